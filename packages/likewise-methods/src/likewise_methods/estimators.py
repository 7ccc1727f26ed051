"""What makes a class an estimator in scikit-learn's sense, without importing scikit-learn.

Importing ``sklearn.base`` takes more CPU time than all the rest of a command (it brings SciPy's
statistics along), and most commands learn nothing.  An estimator is a protocol, not a base class:
``get_params``, ``set_params``, ``fit``, and tags.  These two classes hold that protocol; the parts
that only scikit-learn's own tools ask for (tags, data frames as output, the picture in a notebook)
are scikit-learn's, imported when they are asked for.
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
    """Parameters are the arguments of ``__init__``, stored under their names and nothing more."""

    @classmethod
    @functools.cache
    def _get_param_names(cls) -> list[str]:
        """Names of the parameters, sorted (scikit-learn's tools ask for them by this name)."""
        return sorted(_parameters(cls))

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters by name; with ``deep`` those of estimators among them too."""
        found: dict[str, Any] = {}
        for name in self._get_param_names():
            value = found[name] = getattr(self, name)
            if deep and hasattr(value, "get_params") and not isinstance(value, type):
                found |= {f"{name}__{inner}": v for inner, v in value.get_params().items()}
        return found

    def set_params(self, **params: Any) -> Self:
        """Change parameters by name; ``part__name`` reaches into an estimator that is one."""
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
        """The diagram of a notebook."""
        from sklearn.utils import estimator_html_repr

        return str(estimator_html_repr(self))

    def __sklearn_tags__(self) -> Tags:
        """What scikit-learn's tools may expect: by default that ``fit`` needs no target."""
        from sklearn.utils import InputTags, Tags, TargetTags

        return Tags(
            estimator_type=None, target_tags=TargetTags(required=False), input_tags=InputTags()
        )


class Transformer(Estimator):
    """An estimator whose ``transform`` gives a row for a row."""

    # scikit-learn's name for "the rows of transform may come in a data frame".
    _sklearn_auto_wrap_output_keys = frozenset({"transform"})

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "transform" in cls.__dict__:
            cls.transform = _in_container(cls.__dict__["transform"])  # type: ignore[attr-defined]

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> Any:
        """``fit``, then ``transform`` of the same rows."""
        fitted: Any = self
        if y is None:
            return fitted.fit(X, **fit_params).transform(X)
        return fitted.fit(X, y, **fit_params).transform(X)

    @property
    def set_output(self) -> Callable[..., Self]:
        """``set_output(transform="pandas")``: what ``transform`` gives, as scikit-learn has it.

        Only there where the columns have names (``get_feature_names_out``): a pipeline refuses the
        others instead of passing them over.
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
    """The arguments of a class's own ``__init__``; none where it has only ``object``'s."""
    own = [vars(base)["__init__"] for base in cls.__mro__[:-1] if "__init__" in vars(base)]
    init = own[0] if own else None
    if init is None:
        return {}
    found = list(inspect.signature(init).parameters.values())[1:]
    return {p.name: p for p in found if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)}


def _in_container(transform: Any) -> Any:
    """``transform`` whose rows come in the container that scikit-learn was told to give, if any."""

    @functools.wraps(transform)
    def transformed(self: Any, X: Any, *args: Any, **kwargs: Any) -> Any:
        made = transform(self, X, *args, **kwargs)
        # Where scikit-learn is not loaded nobody can have set its configuration.
        if "sklearn" not in sys.modules and not hasattr(self, "_sklearn_output_config"):
            return made
        if not hasattr(self, "get_feature_names_out"):
            return made
        from sklearn.utils._set_output import _wrap_data_with_container

        return _wrap_data_with_container("transform", made, X, self)

    return transformed


def check_is_fitted(estimator: Any, attribute: str | None = None) -> None:
    """Raise scikit-learn's ``NotFittedError`` unless ``fit`` has left something behind.

    That is ``attribute``; else what ``__sklearn_is_fitted__`` says, where an estimator has it; else
    any attribute whose name ends with an underscore.
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
    """scikit-learn's ``NotFittedError``, a ``ValueError`` and an ``AttributeError``, to raise."""
    from sklearn.exceptions import NotFittedError

    error: Exception = NotFittedError(message)
    return error
