"""No message shows a part of a result, however it is printed; and no refusal quotes what was refused."""

from __future__ import annotations

import base64

import pytest

from ppaurora.io.models import StrictModel, from_json, to_json
from ppaurora.messages.owners import ReleasedPart
from ppaurora.messages.process import Finished, Task
from tests.messages.vectors.typed import MODULES, examples, message_types
from tests.support.secrecy import WAYS_TO_SHOW, everything_about, leaks

KINDS = [kind for module in MODULES for kind in message_types(module).values()]


def parts_in(message: object) -> list[bytes]:
    """The parts of results that a message carries."""
    fields = getattr(message, "__struct_fields__", ())
    values = [getattr(message, name) for name in fields]
    flat = [one for value in values for one in (value if isinstance(value, tuple) else (value,))]
    return [one.to_bytes() for one in flat if hasattr(one, "to_bytes") and not isinstance(one, int)]


def test_two_messages_carry_parts_of_results() -> None:
    carrying = {kind for kind in KINDS if parts_in(examples(kind)["full"])}
    assert carrying == {Finished, ReleasedPart}


@pytest.mark.parametrize("way", WAYS_TO_SHOW)
@pytest.mark.parametrize("kind", [Finished, ReleasedPart])
def test_a_message_does_not_show_the_part_that_it_carries(kind: type[StrictModel], way: str) -> None:
    message = examples(kind)["full"]
    secrets = parts_in(message)
    shown = WAYS_TO_SHOW[way](message)
    assert kind.__name__ in shown, "this does not show the message at all"
    assert leaks(shown, secrets) == []
    assert leaks(to_json(message).decode(), secrets), "this would not find a part if it was shown"


def test_an_order_names_shares_and_does_not_contain_them() -> None:
    """The shares follow a task as bytes, or are in files."""
    task = examples(Task)["full"]
    assert parts_in(task) == []
    assert "share" in repr(task)
    assert [name for name in Task.__struct_fields__ if "share" in name] == ["share_files"]


@pytest.mark.parametrize("kind", [Finished, ReleasedPart])
def test_a_refusal_quotes_no_part_of_a_result(kind: type[StrictModel]) -> None:
    message = examples(kind)["full"]
    secrets = parts_in(message)
    text = base64.b64encode(secrets[0]).decode()
    for spoilt in (text[:-4], "?" + text[1:], text + "A"):
        line = to_json(message).replace(text.encode(), spoilt.encode())
        with pytest.raises(ValueError, match=r"part of a result|base64|padding") as caught:
            from_json(kind, line)
        assert leaks(everything_about(caught.value), secrets) == []
