"""Named keys: who has one, new ones, closing one, and taking back all that was said with it."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Response
from pydantic import BaseModel, Field

from likewise.collection.keys import MAX_NAME, AccessKey
from likewise.server.routes_pictures import Serving
from likewise.server.schemas import Role, Strict

router = APIRouter(prefix="/api", tags=["keys"])

KeyId = Annotated[int, Path(ge=1, lt=1 << 32, description="The key's id.")]


class KeyOut(BaseModel):
    """``used``: to the hour; ``maker``: another key, "the page" or "the command line"."""

    id: int
    name: str
    role: Role
    made: str
    maker: str
    used: str | None
    revoked: str | None


class KeysOut(BaseModel):
    items: list[KeyOut]


class KeyIn(Strict):
    name: Annotated[str, Field(min_length=1, max_length=MAX_NAME)]
    role: Role


class NewKeyOut(BaseModel):
    """``secret`` is shown this once."""

    secret: str
    key: KeyOut


class TakenBackOut(BaseModel):
    """``action`` can be undone; ``judgements`` counts comparisons too, ``tags`` lines of tags."""

    action: int
    judgements: int
    tags: int


@router.get("/keys")
def keys(service: Serving) -> KeysOut:
    """Every named key there ever was, oldest first."""
    return KeysOut(items=[_out(one) for one in service.collection.keys])


@router.post("/keys", status_code=201)
def add(service: Serving, said: KeyIn, response: Response) -> NewKeyOut:
    """A new key: give it to one person, who signs in with it or sends it as a bearer token."""
    made = service.collection.keys.add(said.name, said.role)
    response.headers["cache-control"] = "no-store"
    return NewKeyOut(secret=made.secret, key=_out(made.key))


@router.post("/keys/{key}/revoke")
def revoke(service: Serving, key: KeyId) -> KeysOut:
    """Close a key: it and its sessions open nothing from the next request on."""
    service.collection.keys.revoke(key)
    return keys(service)


@router.post("/keys/{key}/take-back")
def take_back(service: Serving, key: KeyId) -> TakenBackOut:
    """Take back all that was judged, compared and tagged with a key, as one action."""
    done = service.collection.keys.take_back(key)
    return TakenBackOut(action=done.action, judgements=done.judgements, tags=done.tags)


def _out(key: AccessKey) -> KeyOut:
    return KeyOut.model_validate(vars(key))
