"""What lines say about each pair of a query and a picture, in the order they said it.

Which line contradicts which, what stands about a picture and whether it counts as passed over are
functions of the words about that one pair.  So a line that comes or goes changes the lines that
speak of its own pairs, found here, and no others: an undo in a log of a hundred thousand lines
reads a handful.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True, order=True)
class Contradiction:
    """A judgement that says the opposite of an earlier one about a query and a picture."""

    judgement: int
    earlier: int
    picture: int


@dataclass
class Verdicts:
    """What was said about the pictures of one query, last word first."""

    liked: set[int] = field(default_factory=set)
    disliked: set[int] = field(default_factory=set)


class PairIndex:
    """Words about pairs, by the numbers of the lines that said them or passed a picture over.

    The last words that agree stand.  The first of them contradicts those before it that agree with
    each other, and so on back to the first word of all.
    """

    def __init__(self) -> None:
        # Every word about a pair, oldest first: the line's number, negative for a dislike.
        self._words: dict[tuple[int, int], list[int]] = {}
        self._passed: dict[tuple[int, int], list[int]] = {}
        self._verdicts: dict[int, Verdicts] = {}

    def say(self, number: int, query: int, picture: int, *, likes: bool) -> list[int]:
        """One more word, of the newest line; gives the lines whose word stands no more."""
        words = self._words.setdefault((query, picture), [])
        word = number if likes else -number
        contradicted = _last_agreeing(words) if words and not _agree(words[-1], word) else []
        words.append(word)
        self._note(query, picture, words)
        return [abs(one) for one in contradicted]

    def unsay(self, number: int, query: int, picture: int) -> list[int]:
        """A line's word is taken back; gives the lines whose word stands again."""
        words = self._words[query, picture]
        before = set(_last_agreeing(words))
        words.remove(number if number in words else -number)
        standing = _last_agreeing(words)
        self._note(query, picture, words)
        if not words:
            del self._words[query, picture]
        return [abs(one) for one in standing if one not in before]

    def _note(self, query: int, picture: int, words: Sequence[int]) -> None:
        verdicts = self._verdicts.setdefault(query, Verdicts())
        verdicts.liked.discard(picture)
        verdicts.disliked.discard(picture)
        if words:
            (verdicts.liked if words[-1] > 0 else verdicts.disliked).add(picture)
        elif not (verdicts.liked or verdicts.disliked):
            del self._verdicts[query]

    def pass_over(self, number: int, query: int, pictures: Iterable[int]) -> None:
        """A line names pictures that were shown and not chosen."""
        for picture in pictures:
            self._passed.setdefault((query, picture), []).append(number)

    def forget_passed_over(self, number: int, query: int, pictures: Iterable[int]) -> None:
        """That line is taken back."""
        for picture in pictures:
            left = self._passed[query, picture]
            left.remove(number)
            if not left:
                del self._passed[query, picture]

    def passed_over(self, query: int, picture: int) -> Sequence[int]:
        """The lines that passed a picture over, whether or not that counts."""
        return self._passed.get((query, picture), ())

    def likes(self, query: int, picture: int) -> bool:
        """Whether the last word about a pair is a like."""
        verdicts = self._verdicts.get(query)
        return verdicts is not None and picture in verdicts.liked

    def verdicts(self, query: int) -> Verdicts:
        """What stands about a query: a copy, since later judgements change the original."""
        found = self._verdicts.get(query, Verdicts())
        return Verdicts(set(found.liked), set(found.disliked))

    def contradicted_by(self, number: int, query: int, picture: int) -> list[int]:
        """Earlier lines of which a line says the opposite about a pair."""
        words = self._words[query, picture]
        at = words.index(number if number in words else -number)
        if not at or _agree(words[at - 1], words[at]):
            return []
        return [abs(one) for one in _last_agreeing(words[:at])]

    def contradictions(self) -> list[Contradiction]:
        """Every contradiction, in the order they were made."""
        return sorted(
            Contradiction(word, earlier, picture)
            for (_, picture), words in self._words.items()
            for word, earlier in _disagreements(words)
        )


def _agree(one: int, other: int) -> bool:
    return (one > 0) == (other > 0)


def _last_agreeing(words: Sequence[int]) -> list[int]:
    """The last words that say the same, oldest first: those that stand."""
    start = len(words)
    while start and _agree(words[start - 1], words[-1]):
        start -= 1
    return list(words[start:])


def _disagreements(words: Iterable[int]) -> Iterator[tuple[int, int]]:
    """Lines that say the opposite, and each of those before them that they say it of."""
    agreeing: list[int] = []
    for word in words:
        if agreeing and not _agree(agreeing[-1], word):
            yield from ((abs(word), abs(earlier)) for earlier in agreeing)
            agreeing = []
        agreeing.append(word)
