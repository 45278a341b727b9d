"""scikit-learn's callback interface where the installed version has it, and nothing elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:  # scikit-learn before 1.9

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Stands in for scikit-learn's mixin: estimators have no ``set_callbacks``."""

        def _init_callback_context(self, **options: Any) -> None:
            return None

    def with_callbacks(method: Callable[..., Any]) -> Callable[..., Any]:
        """The method as it is."""
        return method


__all__ = ["CallbackSupportMixin", "Task", "task_of", "with_callbacks"]


class Task:
    """One task of a fit (a class, a target), reported to the callbacks set on the estimator.

    Every check of the solver is a subtask of it; it stops when a callback asks for that.
    """

    def __init__(self, context: Any, estimator: Any, data: dict[str, Any]) -> None:
        self.context = context
        self.estimator = estimator
        self.data = data

    def begin(self) -> None:
        """Report that the task begins."""
        self.context.call_on_fit_task_begin(estimator=self.estimator, **self.data)

    def part(self, name: str, task_id: int, max_subtasks: int | None) -> Task:
        """A task inside this one, numbered by the caller: parts may run at the same time."""
        context = self.context.subcontext(
            task_name=name, task_id=task_id, max_subtasks=max_subtasks
        )
        return Task(context, self.estimator, self.data)

    def check(self, attributes: Callable[[], dict[str, Any] | None]) -> bool:
        """Report one check; True if a callback asks to stop."""
        context = self.context.subcontext(task_name="pass")
        context.call_on_fit_task_begin(estimator=self.estimator, **self.data)
        return bool(
            context.call_on_fit_task_end(
                estimator=self.estimator, reconstruction_attributes=attributes, **self.data
            )
        )

    def end(self) -> None:
        """Report that the task is over."""
        self.context.call_on_fit_task_end(
            estimator=self.estimator, reconstruction_attributes=None, **self.data
        )


def task_of(estimator: Any, data: dict[str, Any], parts: int) -> Task | None:
    """The task of a whole fit; None where no callbacks are set."""
    if not getattr(estimator, "_skl_callbacks", ()):
        return None
    context = estimator._init_callback_context(
        task_name="fit", max_subtasks=parts, sequential_subtasks=False
    )
    return Task(context, estimator, data)
