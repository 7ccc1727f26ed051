"""What a camera wrote into the header of one file."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from likewise.images.decode import Source, probe
from likewise.images.shots import Shot


@dataclass(frozen=True)
class CameraFacts(Shot):
    """How a picture was taken (:class:`~likewise.images.shots.Shot`), and facts about its file.

    ``orientation`` is the turn that the stored pixels need, as in EXIF; ``taken`` is an ISO date,
    with the offset from UTC where the camera wrote one.
    """

    format: str = ""
    n_bytes: int = 0
    orientation: int = 1
    camera: str | None = None
    taken: str | None = None


def read_camera_facts(source: Source) -> CameraFacts:
    """Return the facts of one file, from its header; an ``ImageError`` if it is no picture."""
    info = probe(source)
    return CameraFacts(
        **asdict(info.shot or Shot()),
        format=info.format,
        n_bytes=info.n_bytes,
        orientation=info.orientation,
        camera=info.camera,
        taken=None if info.date is None else info.date.isoformat(),
    )
