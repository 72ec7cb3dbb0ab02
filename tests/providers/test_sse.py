import itertools

from hypothesis import given
from hypothesis import strategies as st

from openagent.providers.sse import EventParser

lines = st.text(st.characters(exclude_characters="\r\n", exclude_categories=("Cs",)), max_size=20)
payloads = st.lists(lines, max_size=6)


@given(payloads, st.sampled_from(["\n", "\r\n", "\r"]), st.lists(st.integers(0, 200), max_size=10), st.booleans())
def test_events_come_out_whole_however_the_bytes_are_cut(
    sent: list[str], newline: str, cuts: list[int], comments: bool
):
    extra = f": keep-alive{newline}{newline}event: x{newline}" if comments else ""
    stream = "".join(f"{extra}data: {payload}{newline}{newline}" for payload in sent).encode()
    parser = EventParser()
    received: list[bytes] = []
    places = sorted({0, len(stream), *(cut % (len(stream) + 1) for cut in cuts)})
    for start, end in itertools.pairwise(places):
        received += parser.feed(stream[start:end])
    received += parser.end()
    assert [event.decode().removeprefix(" ") for event in received] == sent


def test_data_on_several_lines_is_one_event():
    assert EventParser().feed(b"data: {\ndata: }\n\n") == [b" {\n }"]


def test_an_event_without_its_blank_line_is_given_at_the_end():
    parser = EventParser()
    assert parser.feed(b"data: last") == []
    assert parser.end() == [b" last"]
