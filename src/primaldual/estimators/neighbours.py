"""Our estimators made known to other libraries, as soon as those are imported.

skl2onnx and eli5 look up what to do with a model by its class. For a class of ours it is what they
do with scikit-learn's: each is given the model that ``to_sklearn`` makes.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

from sklearn.base import ClassifierMixin

from .._when_imported import when_imported
from .base import LinearModel

# Options of skl2onnx for classifiers: how probabilities are given, and whether classes are.
FOR_CLASSIFIERS = {
    "zipmap": [True, False, "columns"],
    "nocl": [True, False],
    "output_class_labels": [False, True],
    "raw_scores": [True, False],
}
# Those that a converter reads; the others are dealt with before it is called.
FOR_CONVERTERS = ("nocl", "raw_scores")


def introduce(kinds: list[type[LinearModel]]) -> None:
    """Make these classes known to the libraries once they are imported."""
    when_imported("skl2onnx", lambda module: _to_skl2onnx(module, kinds))
    when_imported("eli5", lambda module: _to_eli5(module, kinds))


def _to_skl2onnx(skl2onnx: ModuleType, kinds: list[type[LinearModel]]) -> None:
    """Parsers, shapes and converters that let those of scikit-learn's models do the work."""
    from skl2onnx._parse import _parse_sklearn_simple_model, sklearn_parsers_map
    from skl2onnx._supported_operators import get_model_alias
    from skl2onnx.common._registration import get_converter, get_shape_calculator

    @contextmanager
    def as_twin(operator: Any) -> Iterator[Any]:
        own = operator.raw_operator, operator.type
        operator.raw_operator = twin = operator.raw_operator.to_sklearn()
        operator.type = get_model_alias(type(twin))
        try:
            yield twin
        finally:
            operator.raw_operator, operator.type = own

    def parse(scope: Any, model: Any, inputs: Any, custom_parsers: Any = None) -> Any:
        kind = type(model.to_sklearn())  # a classifier with probabilities, or without
        parser = sklearn_parsers_map.get(kind, _parse_sklearn_simple_model)
        return parser(scope, model, inputs, custom_parsers=custom_parsers)

    def shape(operator: Any) -> None:
        with as_twin(operator):
            get_shape_calculator(operator.type)(operator)

    def convert(scope: Any, operator: Any, container: Any) -> None:
        asked = container.get_options(operator.raw_operator, fail=False)
        options = {name: asked[name] for name in FOR_CONVERTERS if name in asked}
        with as_twin(operator) as twin:
            operator.twin = twin  # options are kept by its id, which must stay its own
            for place in (scope, container):
                place.add_options(id(twin), options)
            get_converter(operator.type)(scope, operator, container)

    for kind in kinds:
        skl2onnx.update_registered_converter(
            kind, f"Primaldual{kind.__name__}", shape, convert, parser=parse,
            options=FOR_CLASSIFIERS if issubclass(kind, ClassifierMixin) else None,
        )  # fmt: skip


def _to_eli5(eli5: ModuleType, kinds: list[type[LinearModel]]) -> None:
    """Explanations of weights and predictions: those of scikit-learn's model, by our name."""

    def explained_by(function: Any) -> Any:
        def explain(model: Any, *args: Any, **options: Any) -> Any:
            explanation = function(model.to_sklearn(), *args, **options)
            explanation.estimator = repr(model)
            return explanation

        return explain

    for function in (eli5.explain_weights, eli5.explain_prediction):
        for kind in kinds:
            function.register(kind)(explained_by(function))
