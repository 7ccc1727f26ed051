"""Space: a named kind of vector that every picture has.

A kind of space is one class in one file.  It says how to describe a picture, what to learn from the
collection and when to learn again, whether it can run on this machine, how its rows are stored and
compared, and how a hit is explained.  Other code asks these questions and never depends on the
kind. ``registry.py`` finds the class of a recipe, in this package or in another one (the entry
point group ``likewise.spaces``).

An object belongs to one generation: ``files`` and ``width`` are what that generation learned.  It
is pickled as its record in the catalog, from which the registry of the other process opens it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from likewise.catalog.jobs import Report
from likewise.catalog.segments import FORMATS, RowFormat
from likewise.catalog.store import SpaceRow
from likewise.errors import CannotDescribe, CollectionError, InvalidInput, LikewiseError
from likewise.images.decode import Picture, shrink
from likewise_methods.coding import Weighting
from likewise_methods.validation import whole

DECODE_SIDE = 1024
"""Pictures are decoded no larger than this."""
SAMPLE_PICTURES = 2_000
"""Pictures a space learns from, at most."""

_FOR_READERS = {"bag", "graph", "graph_ids", "graph_rows"}
"""Entries of ``files`` that weigh, find and count rows: no row is made with them."""

Pixels = NDArray[np.uint8]
"""A picture as kinds get it: upright RGB, (height, width, 3)."""
Recipe = Mapping[str, Any]
Words = Callable[[], Any]
"""Gives the words of the pictures' network under the text model, or None (``features.text``)."""


class Places(NamedTuple):
    """The places of a row's columns in the picture, which an explanation shows.

    One line a place; the shares of all places add up to the raw row.

    Attributes
    ----------
    columns : int array of shape (places, columns each)
        The columns a place counts for.
    shares : float32 array of shape (places, columns each)
        How much.
    positions : float32 array of shape (places, 2)
        Its middle (x, y) in pixels.
    sides : float32 array of shape (places,)
        The side of what it covers.
    strengths : float32 array of shape (places,)
        How clear it is.

    See Also
    --------
    Space : ``find_places`` gives it.
    """

    columns: NDArray[np.integer[Any]]
    shares: NDArray[np.float32]
    positions: NDArray[np.float32]
    sides: NDArray[np.float32]
    strengths: NDArray[np.float32]


class TextRow(NamedTuple):
    """The row of a typed text in a space, and the names that are shown for it.

    ``unsure``: the text is far from everything that the space can distinguish.
    """

    row: NDArray[np.float32]
    names: tuple[str, ...]
    unsure: bool = False


class LearnedGeneration(NamedTuple):
    """The next generation of a space: its width, its files, and rows that are known.

    ``rows`` are (number of the picture in the survey, row), for pictures whose rows were computed
    while learning; the others are described afterwards.

    See Also
    --------
    Space : ``learn`` gives it.
    """

    width: int
    files: dict[str, str]
    rows: Iterable[tuple[int, Any]] = ()


class Survey(Protocol):
    """What a job gives to a space that learns: pictures by number, and workers.

    See Also
    --------
    Space : ``learn`` takes it.
    """

    n_pictures: int
    seed: int
    n_threads: int
    report: Report

    def choose(self, most: int) -> list[int]:
        """Return the numbers of at most so many pictures, drawn at random, in order."""

    def sample(
        self, space: Space, numbers: Sequence[int], stage: str, **options: Any
    ) -> list[tuple[int, Any]]:
        """Run ``space.sample`` on some pictures in workers; yield (number, answer) in order.

        Pictures that cannot be read, and answers that are None, are left out.
        """

    def new_file(self, suffix: str) -> str:
        """Return a new name for a file of the generation, below the collection's folder."""

    def rows(self, space: str) -> Iterator[tuple[NDArray[np.int64], Any]]:
        """Yield (numbers of pictures, raw rows) of another space, part by part."""


@dataclass(frozen=True)
class Space(SpaceRow, ABC):
    """One generation of a space of a collection; a kind of space is a subclass of it.

    Attributes
    ----------
    name : str
        Of the space.
    row_format_name : str
        Whether rows are sparse or dense.
    recipe : mapping
        Its feature and parameters.
    generation : int
        Grows with every learning.
    width : int
        Columns of a row.
    n_pictures : int
        Pictures it was learned from.
    files : mapping of str to str
        What was learned, below ``root``.
    root : Path
        The collection's folder.

    See Also
    --------
    Survey : what it learns from.
    """

    root: Path

    # -- what a kind declares ---------------------------------------------------------------

    feature: ClassVar[str]
    """The name of the kind: ``feature`` of its recipes."""
    defaults: ClassVar[Recipe] = {}
    """Every parameter of a recipe and its usual value."""
    least: ClassVar[Mapping[str, int]] = {}
    """The parameters that are whole numbers, and the least each may be."""
    vector_type: ClassVar[str] = "dense"
    """``dense`` or ``sparse``."""
    decode_side: ClassVar[int] = DECODE_SIDE
    """The longer side of the pixels it describes, at most ``DECODE_SIDE``: larger pictures are
    decoded, or shrunk, to that."""
    decode_slack: ClassVar[float] = 1.0
    """How many times ``decode_side`` may be given as it is, where the kind resamples anyway."""
    describes_pictures: ClassVar[bool] = True
    """False where the rows come from the user."""
    must_learn: ClassVar[bool] = False
    """Whether something is learned from the collection before the first row."""
    idf: ClassVar[Weighting | None] = None
    """How term counts are weighed by an idf that is frozen with the generation, and renewed by
    ``refresh``; None: rows are compared as they are."""
    placeholder: ClassVar[bytes | None] = None
    """The packed row of a picture that cannot be read while a generation is built; None: it has
    none, and the next ``add`` tries again."""
    has_places: ClassVar[bool] = False
    """Whether columns lie somewhere in a picture (``find_places``), so that they explain a hit."""
    splits_rows: ClassVar[bool] = False
    """Whether a row is a sum over the places of a picture (``split_row``), so that a heat map
    explains a hit."""
    fusion_rank: ClassVar[int | None] = None
    """Which dense space ``both`` fuses with words: the lowest there is; None: never this one."""
    default_rank: ClassVar[int | None] = None
    """Which space ranks when nothing is chosen: the lowest that has rows; None: not by itself."""
    learns_pairs: ClassVar[bool] = False
    """Whether judged pairs teach a metric around each query (dense rows; ``pair_scale``)."""
    model_rank: ClassVar[int | None] = None
    """Which dense space a metric or map learns in when none is named: the lowest; None: never.
    This and the other ranks are for a space under the kind's own name."""
    tag_rank: ClassVar[int | None] = None
    """Which dense space suggests tags: the lowest that has a row; None: not by itself."""
    text_rank: ClassVar[int | None] = None
    """Which space finds pictures by typed words: the lowest that can read text (``read_text``), by
    whatever name; None: never."""
    has_own_text: ClassVar[bool] = False
    """Whether it reads text by a network of its own, and needs no text model."""
    tags_beside: ClassVar[str | None] = None
    """The kind whose rows this one's are joined to when that suggests tags; None: none."""
    duplicates_rank: ClassVar[int | None] = None
    """In which space near-duplicates are found when none is named: the lowest; None: never."""
    duplicates_from: ClassVar[float] = 0.99
    """The score from which on two pictures are nearly the same."""
    stage: ClassVar[str] = "describing pictures"
    """The text of the progress bar while all pictures are described."""
    sample_stage: ClassVar[str] = ""
    """What is said while pictures are looked at to learn from them, where that takes long."""

    # -- recipes ----------------------------------------------------------------------------

    @classmethod
    def default_recipe(cls) -> dict[str, Any]:
        """Return the complete recipe with default values."""
        return {"feature": cls.feature, **cls.defaults}

    @classmethod
    def validate(cls, recipe: Recipe) -> dict[str, Any]:
        """Return the complete recipe for what a user gave, or refuse it."""
        allowed = cls.default_recipe()
        unknown = set(recipe) - set(allowed)
        if unknown:
            raise InvalidInput(
                f"{sorted(unknown)[0]!r} is no parameter of {cls.feature!r}; "
                f"it has {', '.join(k for k in allowed if k != 'feature') or 'none'}"
            )
        complete = {**allowed, **recipe}
        for name, low in cls.least.items():
            if complete[name] is not None or allowed[name] is not None:
                complete[name] = whole(complete[name], name, low)
        cls.check_recipe(complete)
        return complete

    @classmethod
    def check_recipe(cls, recipe: Recipe) -> None:
        """Refuse a complete recipe with bad parameters."""

    @classmethod
    def format_of(cls, recipe: Recipe) -> RowFormat:
        """Return how the rows of a recipe are stored."""
        return FORMATS[cls.vector_type]

    # -- on this machine --------------------------------------------------------------------

    def is_available(self) -> bool:
        """Return whether rows of new pictures can be made on this machine."""
        return self.describes_pictures

    def how_to_get(self) -> str:
        """Return what to do about pictures that lack a row."""
        return "run likewise add again"

    def load(self) -> None:
        """Load networks and files; fail now and not with every picture."""

    def bind(self, others: Mapping[str, Space]) -> dict[str, Any]:
        """Return the recipe with what it takes from other spaces, before a space is added."""
        return dict(self.recipe)

    @property
    def takes_rows_of(self) -> str | None:
        """The space whose rows these are made of; None if it needs no other."""
        return None

    has_trial = False
    """Whether its files are to be tried out by a worker before they are taken in."""

    def try_out(self) -> None:
        """In a worker with limits: run untrusted files once; raise to refuse them."""

    def adopt_files(self) -> tuple[dict[str, Any], dict[str, str]]:
        """Return the recipe to store, and files copied into ``root``, before a space is added."""
        return dict(self.recipe), {}

    def fixed_width(self) -> int | None:
        """Return the columns of a row, where known before anything is learned or given."""
        return None

    def needed_files(self) -> tuple[str, ...]:
        """Return the files below ``root`` that a worker on another machine needs."""
        return tuple(sorted(name for key, name in self.files.items() if key not in _FOR_READERS))

    def at(self, root: Path) -> Space:
        """Return the same space with its collection's files in another folder."""
        return replace(self, root=root)

    # -- describing -------------------------------------------------------------------------

    @abstractmethod
    def describe(self, picture: Pixels, shared: dict[str, Any]) -> Any:
        """Return the raw row of a picture: an array if dense, (columns, values) if sparse.

        ``shared`` is empty for each new picture; spaces share results in it, such as one pass
        through a network.
        """

    def packed_row(self, picture: Picture | Pixels, shared: dict[str, Any] | None = None) -> bytes:
        """Return the raw row of a picture as a blob; raises :class:`CannotDescribe`."""
        shared = {} if shared is None else shared
        pixels = picture.pixels if isinstance(picture, Picture) else picture
        # A space always gets the picture in the size that it declares.
        size = f"pixels at {self.decode_side}, {self.decode_slack}"
        try:
            if size not in shared:
                shared[size] = shrink(pixels, self.decode_side, slack=self.decode_slack)
            row = self.describe(shared[size], shared)
        except (LikewiseError, MemoryError):
            raise
        except Exception as error:
            # Code of another package, or OpenCV's: one picture fails, not the whole job.
            raise CannotDescribe(f"space {self.name!r}: {error or type(error).__name__}") from error
        try:
            return self.row_format.pack(self.row_format.check_row(row, self.width))
        except InvalidInput as error:
            raise CannotDescribe(f"space {self.name!r}: {error}") from error

    # -- learning ---------------------------------------------------------------------------

    def learn(self, survey: Survey) -> LearnedGeneration | None:
        """Learn the next generation from the pictures; return None where they are too few.

        Called on a space without ``files``: a generation starts from nothing.
        """
        raise NotImplementedError(f"{type(self).__name__} learns nothing")

    def can_learn(self) -> bool:
        """Return whether the next generation can be learned on this machine."""
        return self.must_learn and self.is_available()

    def sample(self, picture: Pixels, number: int, **options: Any) -> Any:
        """In a worker: return what ``learn`` needs of one picture, using ``files`` so far."""
        raise NotImplementedError(f"{type(self).__name__} learns nothing")

    def has_outgrown(self, n_pictures: int) -> bool:
        """Return whether there are enough new pictures to learn again."""
        return self.must_learn and not self.generation

    def has_drifted(self, n_pictures: int, survey: Survey) -> bool:
        """Return whether the pictures have changed too much; called when an add ends."""
        return False

    def next_growth(self) -> int | None:
        """Return at how many pictures a long ``add`` should learn again; None: never."""
        return None

    def pair_scale(self) -> float:
        """Return the typical difference of two neighbours (``learns_pairs``)."""
        raise NotImplementedError(f"{type(self).__name__} learns nothing from pairs")

    def place(self, rows: Any) -> NDArray[np.float32]:
        """Return rows of another space as rows of this one (``takes_rows_of``)."""
        raise NotImplementedError(f"{type(self).__name__} takes no rows of another space")

    def translate_row(self, row: NDArray[np.float32], coming: Space) -> Any:
        """Return a dense row of this generation in the next one; None where that is impossible."""
        return None

    @property
    def is_taught(self) -> bool:
        """Whether this space learns from judgements: weights of its columns, or pairs."""
        return self.row_format.learns_weights or self.learns_pairs

    def match_columns(self, other: Space) -> NDArray[np.int64] | None:
        """Return for each column the most similar column of another generation.

        None where the columns of two generations are unrelated.
        """
        return None

    def has_same_columns(self, other: Space) -> bool:
        """Return whether columns mean exactly the same in another generation."""
        return False

    # -- typed words ------------------------------------------------------------------------

    def can_read_text(self, words: Words) -> bool:
        """Return whether typed text can become a row of this space here.

        ``words`` returns the words of the pictures' network, or nothing where there is no text
        model.
        """
        return False

    def text_state(self, words: Words, rows: NDArray[np.float32]) -> Any:
        """Return what ``read_text`` needs of a sample of the collection's rows."""
        return None

    def read_text(
        self, words: Words, text: str, state: Any, struck: frozenset[str]
    ) -> TextRow | None:
        """Return the row of a text, without the excluded names; None where it means nothing."""
        raise NotImplementedError(f"{type(self).__name__} reads no text")

    # -- explaining -------------------------------------------------------------------------

    def find_places(self, picture: Pixels) -> Places:
        """Return where the columns of a row are in its picture (``has_places``)."""
        raise CollectionError(f"space {self.name!r} has no words to explain by; use a words space")

    def split_row(self, picture: Pixels) -> NDArray[np.float64]:
        """Return the row, as it is compared, as a sum over a grid of places (``splits_rows``).

        The grid covers the picture evenly: (rows, columns, width).
        """
        raise CollectionError(f"space {self.name!r} cannot tell the places of a picture apart")

    def find_parts(self, picture: Pixels) -> NDArray[np.float64]:
        """Return :meth:`split_row` of the described pixels (see :meth:`packed_row`)."""
        return self.split_row(shrink(picture, self.decode_side, slack=self.decode_slack))

    # -- checking --------------------------------------------------------------------------

    def card(self) -> dict[str, Any] | None:
        """Return what made the vectors, where a network did."""
        return None

    def verify(self) -> Iterable[str]:
        """Return what is wrong with the files of the generation; reading them may raise."""
        return ()

    @property
    def record(self) -> SpaceRow:
        """The record in the catalog."""
        return SpaceRow(*(getattr(self, one.name) for one in fields(SpaceRow)))

    def __reduce__(self) -> tuple[Any, ...]:
        from likewise.spaces.registry import open_space

        return open_space, (self.root, self.record)


def decode_size(spaces: Collection[Space]) -> tuple[int, float]:
    """Return the smallest size that all these spaces can use, and the slack they allow."""
    side = max((one.decode_side for one in spaces), default=0)
    slack = min((one.decode_slack for one in spaces), default=1.0)
    return min(side, DECODE_SIDE), slack


def ranked_spaces(spaces: Mapping[str, Space], rank: Callable[[Space], int | None]) -> list[Space]:
    """Return spaces with rows that are used by default, by a rank of their kinds.

    The lowest rank first.  Only a space with the name of its kind counts: a second space of a kind
    is an experiment and must not replace the first.
    """
    found = [
        (value, place, one)
        for place, one in enumerate(spaces.values())
        if (value := rank(one)) is not None and one.name == one.feature and one.generation
    ]
    return [one for _, _, one in sorted(found, key=lambda entry: entry[:2])]
