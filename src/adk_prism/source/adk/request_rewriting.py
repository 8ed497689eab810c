"""A model that expands placeholders in its requests, for apps that ask for `cached_prefix()`.

The app's model object gets a subclass of its own class. `isinstance` still holds, and so does whatever
the app keeps in the object. Only apps that declare the plugin are affected.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING

from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse

from adk_prism.source.adk.capability import Capability, require

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    _AnyLlm = BaseLlm
else:
    _AnyLlm = object  # A pydantic class would give the model fields that it has already.

Rewrite = Callable[[LlmRequest], LlmRequest]


def rewrite_requests(model: BaseLlm, rewrite: Rewrite) -> bool:
    """Have a model pass each request through `rewrite`; return whether that is possible."""
    return isinstance(model, _Rewriting) or swap_class(model, _subclass(type(model), rewrite))


def swap_class(model: BaseLlm, kind: type[BaseLlm]) -> bool:
    """Turn a model into one of a subclass of its class; return whether that is possible."""
    try:
        object.__setattr__(model, "__class__", kind)
    except TypeError:  # a class with slots of its own
        return False
    return True


class _Rewriting(_AnyLlm):
    """Stands before a model's class, so that it gets rewritten requests."""

    __slots__ = ()

    def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        return super().generate_content_async(self._rewrite(llm_request), stream=stream)

    if TYPE_CHECKING:

        @staticmethod
        def _rewrite(request: LlmRequest) -> LlmRequest: ...


@cache
def _subclass(kind: type[BaseLlm], rewrite: Rewrite) -> type[BaseLlm]:
    names = {
        "__module__": kind.__module__,
        "__qualname__": kind.__qualname__,
        "__doc__": kind.__doc__,
        "_rewrite": staticmethod(rewrite),
    }
    return type(kind.__name__, (_Rewriting, kind), names)


def _probe() -> None:
    class Model(BaseLlm):
        async def generate_content_async(
            self, llm_request: LlmRequest, stream: bool = False
        ) -> AsyncGenerator[LlmResponse, None]:
            del llm_request, stream
            yield LlmResponse()

    model = Model(model="probe")
    require(rewrite_requests(model, lambda request: request), "The class of a model is fixed.")
    require(model.model == "probe", "The model lost its fields.")


CAPABILITY = Capability(
    name="model requests",
    summary="expand cached prompt prefixes inside the model, for apps with cached_prefix()",
    without="prefixes are expanded before ADK's telemetry reads the request, which takes longer",
    probe=_probe,
)
