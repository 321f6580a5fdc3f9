"""The words of a client: requests, tokens, and what an answer promises for ever."""

from __future__ import annotations

import random
import uuid
from typing import Any, Final

import grpc
from google.rpc import error_details_pb2, status_pb2

from ronda.v1 import match_service_pb2 as pb

_NAMESPACE: Final = uuid.UUID("6f6e6461-0000-4000-8000-000000000000")


def request_id(name: str) -> str:
    """Return the request id that goes with a name: a retry needs no memory but the name."""
    return str(uuid.uuid5(_NAMESPACE, name))


def random_id(chance: random.Random) -> str:
    """Return a fresh request id, the same in the same run."""
    return str(uuid.UUID(int=chance.getrandbits(128), version=4))


def offer(seat: str) -> pb.SeatOffer:
    """Return the offer of a seat: "open", "invited" or the name of a bot."""
    if seat == "open":
        return pb.SeatOffer(open=pb.OpenSeat())
    if seat == "invited":
        return pb.SeatOffer(invited=pb.InvitedSeat())
    return pb.SeatOffer(bot=seat)


def bearer(token: str) -> tuple[tuple[str, str], ...]:
    """Return the metadata that carries a token."""
    return (("authorization", f"Bearer {token}"),) if token else ()


def promised(answer: Any) -> bytes:
    """Return an answer as bytes: the same whenever the command is sent again."""
    data: bytes = answer.SerializeToString(deterministic=True)
    return data


def reason_of(error: grpc.aio.AioRpcError) -> str:
    """Return the reason that the server gave, empty if it gave none."""
    for key, value in error.trailing_metadata() or ():
        if key == "grpc-status-details-bin":
            assert isinstance(value, bytes)
            status = status_pb2.Status.FromString(value)
            for detail in status.details:
                info = error_details_pb2.ErrorInfo()
                if detail.Unpack(info):
                    return info.reason
    return ""
