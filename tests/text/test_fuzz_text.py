"""Generated texts and questions: each is read, and what is found lies within the text."""

from __future__ import annotations

from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from fivefold.text.names import mentions
from fivefold.text.secrets_in_text import find_secrets
from fivefold.text.time_grammar import dates_in, find_window

WORDS = (
    "last next this the first week of May in 2024 99999 0 -1 31 February on Monday at 25:61 until since ago days two "
    "million years from now between and before after yesterday's éva's 二〇二四年 ١٢ \u0000 \u202e \n Christmas "
    "eve 1/2/3 2024-02-30 ½ ² quarter Q5 weekend night"
).split(" ")
TEXTS = st.text(max_size=60) | st.lists(st.sampled_from(WORDS), max_size=10).map(" ".join)
MOMENTS = st.datetimes(timezones=st.just(UTC)) | st.sampled_from(
    [datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC), datetime(2024, 2, 29, tzinfo=UTC)]
)


@given(TEXTS, MOMENTS)
def test_every_date_is_a_stretch_of_the_text(text: str, now: datetime) -> None:
    for span in dates_in(text, now):
        assert span.start < span.end


@given(TEXTS, MOMENTS)
def test_every_window_has_a_length(text: str, now: datetime) -> None:
    window = find_window(text, now)
    assert window is None or window.start < window.end


@given(TEXTS)
def test_names_and_secrets_are_read_out_of_any_text(text: str) -> None:
    assert all(mention.name.strip() for mention in mentions(text, "Ana"))
    assert all(secret.kind for secret in find_secrets(text))
