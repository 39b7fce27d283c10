"""What looks like a secret, and what does not."""

from __future__ import annotations

import pytest

from fivefold.text.secrets_in_text import find_secrets, mask_secrets

LONG = "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7"

SECRETS = {
    f"sk-{LONG}": "an API key of OpenAI",
    f"sk-proj-{LONG}": "an API key of OpenAI",
    f"sk-ant-api03-{LONG}": "an API key of Anthropic",
    "AKIA" + "IOSFODNN7EXAMPLE": "an access key of AWS",
    f"ghp_{LONG}{LONG}": "a token of GitHub",
    f"glpat-{LONG}": "a token of GitLab",
    f"xoxb-12345-{LONG}": "a token of Slack",
    f"AIza{LONG}12345678": "an API key of Google",
    f"sk_live_{LONG}": "a key of Stripe",
    f"hf_{LONG}{LONG}": "a token of Hugging Face",
    f"eyJ{LONG}.eyJ{LONG}.{LONG}": "a JSON web token",
    f"ff_{'0a' * 6}_{'0b' * 24}": "an API key of fivefold",
    f"-----BEGIN RSA PRIVATE KEY-----\n{LONG}\n-----END RSA PRIVATE KEY-----": "a private key",
    f"-----BEGIN PRIVATE KEY-----\n{LONG} cut off": "a private key",
    "4111 1111 1111 1111": "the number of a payment card",
    "5555-5555-5555-4444": "the number of a payment card",
    "378282246310005": "the number of a payment card",
    "4111.1111.1111.1111": "the number of a payment card",
    "3782.822463.10005": "the number of a payment card",
    "4111\u00a01111\u20071111\u202f1111": "the number of a payment card",
    "4111\u20111111\u20131111\u22121111": "the number of a payment card",
    "4\u200b111\u200b1111\ufeff1111\u20601111": "the number of a payment card",
    "４１１１ １１１１ １１１１ １１１１": "the number of a payment card",
    "٤١١١ ١١١١ ١١١١ ١١١١": "the number of a payment card",
}


@pytest.mark.parametrize("secret", SECRETS)
def test_a_secret_is_found_where_it_stands(secret: str) -> None:
    text = f"Use this: {secret}"
    (found,) = find_secrets(text)
    assert (found.kind, text[found.start : found.end]) == (SECRETS[secret], secret)
    assert mask_secrets(text) == f"Use this: [{SECRETS[secret]}]"


@pytest.mark.parametrize(
    "text",
    [
        "My badge ID is E-47821",
        "call 07700 900764 or +44 20 7946 0958",
        "4111 1111 1111 1112",
        "order 1234567890123456",
        "0000 0000 0000 0000",
        "the task-force-of-the-city-of-leeds-is-large",
        "01a1e2d0-bc26-7000-ab78-c7e3c8caf9a2",
        "d41d8cd98f00b204e9800998ecf8427e",
        "the private key lies under the mat",
        "sk-short",
        "sk-learn-based-pipelines-for-text",
        "3.141111111111111111",
        "0.4111111111111111",
        "52.201.123.45 52.201.123.46",
        "x4111 1111 1111 1111",
    ],
)
def test_what_is_no_secret_is_left_alone(text: str) -> None:
    assert find_secrets(text) == []
    assert mask_secrets(text) == text


def test_a_card_is_found_among_other_numbers() -> None:
    text = "card 4111 1111 1111 1111 12/27, then 5555 5555 5555 4444 123"
    card = "[the number of a payment card]"
    assert mask_secrets(text) == f"card {card} 12/27, then {card} 123"


def test_two_secrets_are_masked_each() -> None:
    text = f"a sk-{LONG}, b 4111111111111111."
    assert mask_secrets(text) == "a [an API key of OpenAI], b [the number of a payment card]."
