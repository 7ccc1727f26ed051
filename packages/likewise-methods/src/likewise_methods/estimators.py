"""Base classes of estimators that follow scikit-learn's protocol without importing it.

Importing ``sklearn.base`` takes more processor time than most commands, and few commands learn.
What only scikit-learn's tools need (tags, data frames, notebook diagrams) is imported on demand.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Self

from likewise_methods.errors import InvalidInput

if TYPE_CHECKING:
    from sklearn.utils import Tags


class Estimator:
    """An estimator whose parameters are the arguments of ``__init__``, stored under their names."""

    @classmethod
    @functools.cache
    def _get_param_names(cls) -> list[str]:
        """Return the sorted names of the parameters; scikit-learn calls this method."""
        return sorted(_parameters(cls))

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name; with ``deep`` also those of nested estimators."""
        found: dict[str, Any] = {}
        for name in self._get_param_names():
            value = found[name] = getattr(self, name)
            if deep and hasattr(value, "get_params") and not isinstance(value, type):
                found |= {f"{name}__{inner}": v for inner, v in value.get_params().items()}
        return found

    def set_params(self, **params: Any) -> Self:
        """Change parameters by name; ``part__name`` is a parameter of a nested estimator."""
        known = self._get_param_names()
        nested: dict[str, dict[str, Any]] = {}
        for key, value in params.items():
            name, _, inner = key.partition("__")
            if name not in known:
                raise InvalidInput(
                    f"{name!r} is no parameter of {type(self).__name__}; it has {', '.join(known)}"
                )
            if inner:
                nested.setdefault(name, {})[inner] = value
            else:
                setattr(self, name, value)
        for name, inside in nested.items():
            getattr(self, name).set_params(**inside)
        return self

    def __repr__(self) -> str:
        defaults = _parameters(type(self))
        changed = {
            name: value
            for name, value in self.get_params(deep=False).items()
            if repr(value) != repr(defaults[name].default)
        }
        return f"{type(self).__name__}({', '.join(f'{k}={v!r}' for k, v in changed.items())})"

    def _repr_html_(self) -> str:
        """Return the diagram for a notebook."""
        from sklearn.utils import estimator_html_repr

        return str(estimator_html_repr(self))

    def __sklearn_tags__(self) -> Tags:
        """Return scikit-learn's tags: by default ``fit`` needs no target."""
        from sklearn.utils import InputTags, Tags, TargetTags

        return Tags(
            estimator_type=None, target_tags=TargetTags(required=False), input_tags=InputTags()
        )


class Transformer(Estimator):
    """An estimator whose ``transform`` returns one row per row."""

    # scikit-learn may wrap the result of transform in a data frame.
    _sklearn_auto_wrap_output_keys = frozenset({"transform"})

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "transform" in cls.__dict__:
            cls.transform = _in_container(cls.__dict__["transform"])  # type: ignore[attr-defined]

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> Any:
        """Call ``fit``, then ``transform`` with the same rows."""
        fitted: Any = self
        if y is None:
            return fitted.fit(X, **fit_params).transform(X)
        return fitted.fit(X, y, **fit_params).transform(X)

    @property
    def set_output(self) -> Callable[..., Self]:
        """Choose the type that ``transform`` returns, such as ``set_output(transform="pandas")``.

        Exists only if the columns have names (``get_feature_names_out``).
        """
        if not hasattr(self, "get_feature_names_out"):
            raise AttributeError(f"the columns of {type(self).__name__} have no names")
        return self._set_output

    def _set_output(self, *, transform: str | None = None) -> Self:
        if transform not in (None, "default", "pandas", "polars"):
            raise InvalidInput(f"transform is {transform!r}; default, pandas or polars expected")
        if transform is not None:
            self._sklearn_output_config = {"transform": transform}
        return self

    def __sklearn_tags__(self) -> Tags:
        from sklearn.utils import TransformerTags

        tags = super().__sklearn_tags__()
        tags.transformer_tags = TransformerTags()
        return tags


def _parameters(cls: type) -> dict[str, inspect.Parameter]:
    """Return the arguments of a class's ``__init__``."""
    own = [vars(base)["__init__"] for base in cls.__mro__[:-1] if "__init__" in vars(base)]
    init = own[0] if own else None
    if init is None:
        return {}
    found = list(inspect.signature(init).parameters.values())[1:]
    return {p.name: p for p in found if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)}


def _in_container(transform: Any) -> Any:
    """Wrap ``transform`` to return the container that ``set_output`` chose."""

    @functools.wraps(transform)
    def transformed(self: Any, X: Any, *args: Any, **kwargs: Any) -> Any:
        made = transform(self, X, *args, **kwargs)
        # Without scikit-learn loaded its configuration is the default.
        if "sklearn" not in sys.modules and not hasattr(self, "_sklearn_output_config"):
            return made
        if not hasattr(self, "get_feature_names_out"):
            return made
        from sklearn.utils._set_output import _wrap_data_with_container

        return _wrap_data_with_container("transform", made, X, self)

    return transformed


def check_is_fitted(estimator: Any, attribute: str | None = None) -> None:
    """Raise scikit-learn's ``NotFittedError`` if an estimator is not fitted.

    It is fitted if it has ``attribute``; by default if ``__sklearn_is_fitted__`` says so, or if any
    attribute ends with an underscore.
    """
    if attribute is None and hasattr(estimator, "__sklearn_is_fitted__"):
        fitted = bool(estimator.__sklearn_is_fitted__())
    elif attribute is None:
        fitted = any(name.endswith("_") and not name.startswith("__") for name in vars(estimator))
    else:
        fitted = hasattr(estimator, attribute)
    if not fitted:
        name = type(estimator).__name__
        raise not_fitted(f"this {name} is not fitted yet; call fit before you use it")


def not_fitted(message: str) -> Exception:
    """Return scikit-learn's ``NotFittedError`` with a message, to raise."""
    from sklearn.exceptions import NotFittedError

    error: Exception = NotFittedError(message)
    return error
