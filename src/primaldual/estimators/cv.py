"""Logistic regression whose C is chosen by cross-validation."""

from __future__ import annotations

from inspect import signature
from typing import Any, NamedTuple

import numpy as np
import sklearn
from sklearn.metrics import get_scorer, make_scorer
from sklearn.model_selection import check_cv
from sklearn.utils._param_validation import InvalidParameterError
from sklearn.utils.fixes import parse_version
from sklearn.utils.metadata_routing import (
    UNUSED,
    MetadataRouter,
    MethodMapping,
    _raise_for_params,
    _routing_enabled,
    process_routing,
)
from sklearn.utils.validation import _check_method_params

from .._types import FloatArray
from ..problem.multinomial import Multinomial
from . import absent
from .callbacks import with_callbacks
from .checks import ONLY_L2, checked_weights, require_bool, require_number
from .folds import accuracies, adopt, predictions, rows
from .inference import left_out_margins, with_margins
from .logistic import LogisticRegression
from .parameters import documented
from .paths import walk
from .threading import in_threads, threaded

# Before this version scikit-learn's attributes are dicts, and arrays from then on.
ARRAYS_SINCE = "1.10"


class Fold(NamedTuple):
    """What a fold gives for every C."""

    scores: FloatArray
    coefs: FloatArray  # (n_cs, problems, features)
    intercepts: FloatArray  # (n_cs, problems)
    iterations: Any


@documented
class LogisticRegressionCV(LogisticRegression):
    """Logistic regression whose C is chosen by cross-validation, along a warm-started path.

    Parameters
    ----------
    Cs : int or array of floats, default=10
        The values of C, or how many of them between 1e-4 and 1e4.
    cv : int, splitter, iterable or "loo", default=None
        As in scikit-learn: None is 5 stratified folds. "loo" leaves out every example alone,
        without refitting, by one Newton step each (see ``primaldual.loo``): one fold with the
        scores of all examples, for two classes or ``multi_class="ovr"``.
    scoring : str or callable, optional
        As in scikit-learn: None is the accuracy.
        Class weights do not enter the scores; ``sample_weight`` does.
    refit : bool, default=True
        Whether to fit all data with the best C. Otherwise the folds' coefficients at their
        best values of C are averaged.
    l1_ratios : array of zeros, optional
        For scikit-learn's code: 0 is the L2 penalty, all that is available here. Given as an array,
        the attributes have an axis for it, as in scikit-learn.
    penalty, dual, solver, intercept_scaling
        As for ``LogisticRegression``.
    use_legacy_attributes : bool, optional
        The form of ``C_``, ``scores_``, ``coefs_paths_`` and ``n_iter_``, as in scikit-learn. None
        is the default of the installed version: True before 1.10, then False.
    {shared}
    class_weight : dict or "balanced", optional
        Weights of the classes, multiplied with ``sample_weight``.
    multi_class : {"multinomial", "ovr"}, default="multinomial"
        As for ``LogisticRegression``.
    random_state : int, RandomState or None
        For the order of steps. None: always the same.
    n_jobs : int, optional
        Threads; None and -1 stand for all cores, None for one in a worker of joblib. The number
        changes no bit. Folds are solved at the same time;
        otherwise threads share the work on large data.
    verbose : int, default=0
        Whether to print a line for every check of the final fit.

    Attributes
    ----------
    Cs_ : array of shape (n_cs,)
    C_ : float, or array of shape (1,) or (n_classes,) with ``use_legacy_attributes``
        The chosen value; without ``refit`` the mean of those that are best in each fold.
    scores_ : array of shape (n_folds, n_l1_ratios, n_cs), or dict
        As a dict: one array of shape (n_folds, n_cs) for the positive class or for every class.
    coefs_paths_ : array of shape (n_folds, n_l1_ratios, n_cs, n_problems, n_coefs), or dict
        As a dict: arrays of shape (n_folds, n_cs, n_coefs). The intercept comes last.
    n_iter_ : array of shape (n_folds, n_l1_ratios, n_cs), or (1, n_folds, n_cs)
        Passes made in the folds.
    l1_ratio_ : float, always 0
    l1_ratios_ : array, as in scikit-learn
    coef_ : array of shape (1, n_features) or (n_classes, n_features)
    intercept_ : array of shape (1,) or (n_classes,)
    classes_ : array of shape (n_classes,)
    {attributes}

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.preprocessing import scale
    >>> from primaldual.estimators import LogisticRegressionCV
    >>> X, y = load_wine(return_X_y=True)
    >>> model = LogisticRegressionCV(Cs=[0.01, 0.1, 1.0], cv=3, use_legacy_attributes=False)
    >>> model.fit(scale(X), y).scores_.shape
    (3, 1, 3)
    >>> model.C_
    1.0
    """

    C_: Any
    l1_ratio_: Any
    scores_: Any
    coefs_paths_: Any
    n_iter_: Any
    l1_ratio = 0.0  # that of the L2 penalty
    _penalties = ("l2", "deprecated")  # for no penalty at all there is inf among the Cs
    __metadata_request__score = {"sample_weight": UNUSED}
    _certifies = False  # it is not said which fit the gap is of

    def __init__(
        self,
        *,
        Cs: Any = 10,
        l1_ratios: Any = None,
        fit_intercept: bool = True,
        cv: Any = None,
        dual: bool = False,
        penalty: str = "deprecated",
        scoring: Any = None,
        solver: str = "lbfgs",
        tol: float = 1e-6,
        max_iter: int | None = 1000,
        class_weight: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        refit: bool = True,
        intercept_scaling: float = 1.0,
        random_state: Any = None,
        use_legacy_attributes: bool | None = None,
        multi_class: str = "multinomial",
        side: str = "auto",
        max_time: float | None = None,
        callback: Any = None,
    ) -> None:
        self.Cs = Cs
        self.l1_ratios = l1_ratios
        self.fit_intercept = fit_intercept
        self.cv = cv
        self.dual = dual
        self.penalty = penalty
        self.scoring = scoring
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.class_weight = class_weight
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.refit = refit
        self.intercept_scaling = intercept_scaling
        self.random_state = random_state
        self.use_legacy_attributes = use_legacy_attributes
        self.multi_class = multi_class
        self.side = side
        self.max_time = max_time
        self.callback = callback

    def _strengths(self) -> Any:
        found = getattr(self, "C_", None)
        return _values(self.Cs) if found is None else self._strength_used()

    def _strength_used(self) -> float:
        return float(np.ravel(self.C_)[0])

    def _require_parameters(self) -> None:
        self.__dict__.pop("C_", None)
        if isinstance(self.Cs, int | np.integer):
            require_number("Cs", self.Cs, positive=True)
        super()._require_parameters()
        require_bool("refit", self.refit)
        if self.use_legacy_attributes is not None:
            require_bool("use_legacy_attributes", self.use_legacy_attributes)
        ratios = () if self.l1_ratios is None else np.asarray(self.l1_ratios)
        if np.ndim(ratios) != 1 or (self.l1_ratios is not None and not len(ratios)):
            raise InvalidParameterError(
                f"l1_ratios must be None or a list of zeros, got {self.l1_ratios!r}."
            )
        if self.penalty == "deprecated" and not all(ratio == 0 for ratio in ratios):
            raise InvalidParameterError(
                f"l1_ratios={self.l1_ratios!r} is not available: {ONLY_L2}."
            )

    # ---- routing of metadata

    def _scorer(self) -> Any:
        return get_scorer("accuracy" if self.scoring is None else self.scoring)

    def get_metadata_routing(self) -> Any:
        """Where metadata goes: to the splitter, and from ``fit`` and ``score`` to the scorer.

        Returns
        -------
        MetadataRouter
        """
        to_splitter = MethodMapping().add(caller="fit", callee="split")
        to_scorer = MethodMapping().add(caller="score", callee="score")
        to_scorer.add(caller="fit", callee="score")
        router = MetadataRouter(owner=self).add_self_request(self)
        splitter = None if self._leaves_one_out() else self.cv
        router.add(splitter=splitter, method_mapping=to_splitter)
        router.add(scorer=self._scorer(), method_mapping=to_scorer)
        return router

    def _routed(self, sample_weight: Any, params: dict[str, Any]) -> tuple[Any, Any]:
        """The metadata of the splitter and that of the scorer."""
        weights = {} if sample_weight is None else {"sample_weight": sample_weight}
        if not _routing_enabled():
            return {}, weights
        routed = process_routing(self, "fit", **weights, **params)
        # The accuracy without ``scoring`` is that of ``score``, which is always weighted.
        return routed.splitter.split, weights if self.scoring is None else routed.scorer.score

    # ---- fitting

    @with_callbacks  # type: ignore[untyped-decorator,unused-ignore]
    @threaded
    def fit(self, X: Any, y: Any, sample_weight: Any = None, **params: Any) -> Any:
        """Choose C and fit the model with it.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
        y : array of shape (n_samples,)
            Class labels.
        sample_weight : array of shape (n_samples,), optional
            A weight of 2 is the same as the example twice.
        **params
            Metadata for the scorer and the splitter, if scikit-learn's metadata routing is enabled.

        Returns
        -------
        self
        """
        _raise_for_params(params, self, "fit")
        X, codes, weights = self._read(X, y, sample_weight)
        split, score = self._routed(checked_weights(sample_weight, len(codes)), params)
        self.Cs_ = _values(self.Cs)
        labels = self.classes_[codes]
        if self._leaves_one_out():
            folds = [self._left_out(X, codes, weights, score)]
        else:
            parts = list(check_cv(self.cv, labels, classifier=True).split(X, labels, **split))
            folds = in_threads(
                lambda part: self._fold(X, codes, weights, score, *part), parts, X.size
            )
        scores = np.array([fold.scores for fold in folds])
        best = float(self.Cs_[scores.sum(axis=0).argmax()])
        final = self._plain(best, verbose=self.verbose, callback=self.callback)
        adopt(self, final.fit(X, labels, weights))
        if not self.refit:
            chosen = scores.argmax(axis=1)
            best = float(self.Cs_[chosen].mean())
            pairs = list(zip(folds, chosen, strict=True))
            self.coef_ = np.mean([fold.coefs[k] for fold, k in pairs], axis=0)
            self.intercept_ = np.mean([fold.intercepts[k] for fold, k in pairs], axis=0)
        self._describe(best, scores, folds)
        return self

    def _describe(self, best: float, scores: FloatArray, folds: list[Fold]) -> None:
        """Set the attributes of the search in the form that was asked for."""
        coefs = np.array([fold.coefs for fold in folds])  # (folds, Cs, problems, features)
        if self.fit_intercept:
            intercepts = np.array([fold.intercepts for fold in folds])
            coefs = np.concatenate([coefs, intercepts[..., None]], axis=-1)
        iterations = np.array([fold.iterations for fold in folds])
        is_legacy = self.use_legacy_attributes
        if is_legacy is None:
            is_legacy = parse_version(sklearn.__version__) < parse_version(ARRAYS_SINCE)
        ratios = 1 if self.l1_ratios is None else len(self.l1_ratios)
        self.l1_ratios_ = np.asarray([None] if self.l1_ratios is None else self.l1_ratios)
        if not is_legacy:
            self.C_, self.l1_ratio_ = best, 0.0
            self.scores_ = np.repeat(scores[:, None], ratios, axis=1)
            self.n_iter_ = np.repeat(iterations[:, None], ratios, axis=1)
            self.coefs_paths_ = np.repeat(coefs[:, None], ratios, axis=1)
            return

        def with_ratios(values: Any, axis: int) -> Any:
            if self.l1_ratios is None:
                return values
            return np.repeat(np.expand_dims(values, axis), ratios, axis=axis)

        names = self.classes_[1:] if len(self.classes_) == 2 else self.classes_
        self.C_ = np.full(len(names), best)
        self.l1_ratio_ = np.zeros(len(names))
        self.scores_ = {name: with_ratios(scores, 2) for name in names}
        self.coefs_paths_ = {name: with_ratios(coefs[:, :, k], 2) for k, name in enumerate(names)}
        self.n_iter_ = with_ratios(iterations, 2)[None]

    def _plain(self, C: float, **more: Any) -> LogisticRegression:
        """The estimator for one C; class weights are in the examples' weights by now."""
        return LogisticRegression(
            C=C, tol=self.tol, fit_intercept=self.fit_intercept, multi_class=self.multi_class,
            random_state=self.random_state, max_iter=self.max_iter, side=self._side(),
            max_time=self.max_time, **more,
        )  # fmt: skip

    def _fold(
        self, X: Any, codes: Any, weights: FloatArray | None, score: Any, train: Any, test: Any
    ) -> Fold:
        """The models for every C and their scores on the left-out part."""
        index, own = self._with_every_class(codes, weights, np.arange(len(codes))[train])
        coefs, intercepts, iterations = self._path(rows(X, index), codes[index], own)
        metadata = _check_method_params(X=X, params=score, indices=test)
        held_out, labels = rows(X, test), self.classes_[codes[test]]
        if self.scoring is None:
            found = predictions(held_out, coefs, intercepts)
            accurate = accuracies(found, codes[test], metadata.get("sample_weight"))
            return Fold(accurate, coefs, intercepts, iterations)
        model = self._plain(1.0)
        model.classes_, model.n_features_in_ = self.classes_, self.n_features_in_
        scorer = self._knowing_classes(model)
        scores = []
        for model.C, model.coef_, model.intercept_ in zip(self.Cs_, coefs, intercepts, strict=True):
            scores.append(float(scorer(held_out, labels, **metadata)))
        return Fold(np.array(scores), coefs, intercepts, iterations)

    def _leaves_one_out(self) -> bool:
        return isinstance(self.cv, str) and self.cv == "loo"

    def _left_out(self, X: Any, codes: Any, weights: FloatArray | None, score: Any) -> Fold:
        """The scores of all examples for every C, each by the model without it (approximate)."""
        if self._is_softmax():
            raise ValueError(
                "cv='loo' needs one problem per class: the Hessian of the softmax loss is not "
                "factored. Set multi_class='ovr', or cv to a number of folds."
            )
        coefs, intercepts, iterations = self._path(X, codes, weights)
        total = float(len(codes) if weights is None else weights.sum())
        columns, scores = self._targets(codes), []
        first = self._first_problem(X, columns[0], "logistic", 1.0, weights)
        for C, rows_of, b in zip(self.Cs_, coefs, intercepts, strict=True):
            lam = self._lam(float(C), total, X)
            problems = [first.related(lam, column) for column in columns]
            model = self._plain(float(C))
            model.classes_, model.n_features_in_ = self.classes_, self.n_features_in_
            model.coef_, model.intercept_ = rows_of, b
            with_margins(model, left_out_margins(problems, rows_of, b))
            scorer = model.score if self.scoring is None else self._knowing_classes(model)
            scores.append(float(scorer(X, self.classes_[codes], **score)))
        return Fold(np.array(scores), coefs, intercepts, iterations)

    def _with_every_class(
        self, codes: Any, weights: FloatArray | None, train: Any
    ) -> tuple[Any, FloatArray | None]:
        """The examples of a fold and their weights.

        A class that the fold lacks is represented by one example of weight zero.
        """
        lacking = np.setdiff1d(np.arange(len(self.classes_)), codes[train])
        own = None if weights is None else weights[train]
        if not len(lacking):
            return train, own
        more = np.array([np.flatnonzero(codes == k)[0] for k in lacking])
        own = np.ones(len(train)) if own is None else own
        return np.concatenate([train, more]), np.concatenate([own, np.zeros(len(more))])

    def _path(
        self, X: Any, codes: Any, weights: FloatArray | None
    ) -> tuple[FloatArray, FloatArray, Any]:
        """Coefficients, intercepts and passes for every C, each started where the last point."""
        total = float(len(codes) if weights is None else weights.sum())
        lams = np.array([self._lam(float(C), total, X) for C in self.Cs_])
        count, request = len(self.classes_), self._request()
        if not self._is_softmax():
            found = [
                walk(self._first_problem(X, column, "logistic", 1.0, weights), lams, request)
                for column in self._targets(codes)
            ]
            coefs = np.array([[result.w for result in results] for results in found])
            intercepts = np.array([[result.intercept for result in results] for results in found])
            passes = np.array([[result.iterations for result in results] for results in found])
            return coefs.swapaxes(0, 1), intercepts.T, np.ceil(passes.max(axis=0)).astype(np.int32)
        present = absent.present_classes(codes, weights, count)
        if present is not None and self.fit_intercept:
            results = walk(absent.problem_of(X, codes, 1.0, weights, present), lams, request)
            # What tol allows: with less, a score by logarithms would see nothing but that class.
            mass = max(self.tol, absent.UNIT)
            pairs = [absent.for_all_classes(r, present, count, mass)[:2] for r in results]
        else:
            problem = Multinomial(X, codes, 1.0, weights, bool(self.fit_intercept))
            results = walk(problem, lams, request)
            pairs = [(result.w, np.asarray(result.intercept)) for result in results]
        passes = np.ceil([result.iterations for result in results]).astype(np.int32)
        return np.array([w for w, _ in pairs]), np.array([b for _, b in pairs]), passes

    def _knowing_classes(self, model: Any) -> Any:
        """The scorer, with the classes given to scores that take them: a fold may lack some."""
        scorer = self._scorer()
        function = getattr(scorer, "_score_func", None)
        known = {} if function is None else signature(function).parameters
        if "labels" in known:
            more = dict(getattr(scorer, "_kwargs", {}))
            if len(self.classes_) == 2 and "pos_label" in known:
                more.setdefault("pos_label", self.classes_[1])
            scorer = make_scorer(
                function,
                greater_is_better=getattr(scorer, "_sign", 1) == 1,
                response_method=getattr(scorer, "_response_method", "predict"),
                **{"labels": self.classes_, **more},
            )
        return lambda X, y, **metadata: scorer(model, X, y, **metadata)

    def score(self, X: Any, y: Any, sample_weight: Any = None, **score_params: Any) -> float:
        """The score of the predictions, by ``scoring`` or else the accuracy.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
        y : array of shape (n_samples,)
        sample_weight : array of shape (n_samples,), optional
        **score_params
            Metadata for the scorer, if scikit-learn's metadata routing is enabled.

        Returns
        -------
        float
        """
        _raise_for_params(score_params, self, "score")
        if sample_weight is not None:
            score_params["sample_weight"] = sample_weight
        if _routing_enabled():
            score_params = process_routing(self, "score", **score_params).scorer.score
        return float(self._scorer()(self, X, y, **score_params))


def _values(given: Any) -> FloatArray:
    """The values to try: as given, or that many between 1e-4 and 1e4."""
    if isinstance(given, int | np.integer):
        return np.logspace(-4, 4, int(given))
    return np.atleast_1d(np.asarray(given, dtype=np.float64))
