"""Secrets by their look, passwords, PINs and door codes by what they are called, and words that are neither."""

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

PASSWORDS = {
    "my password: <hunter2>": "a password",
    "the wifi password is <swordfish>": "a password",
    "our wifi password is now <purpleelephant>.": "a password",
    'the password for the guest wifi is "<Guest 2024>"': "a password",
    "My passphrase is <correct horse battery staple>.": "a password",
    "I changed my password to <Blue-Horse7> yesterday": "a password",
    "My Netflix password was changed to <sunflower99>": "a password",
    "The password to the office NAS: <qwertz>": "a password",
    "<hunter2> is my password": "a password",
    "use <Tr0ub4dor&3> as the password": "a password",
    "user: bob pass: <hunter2>": "a password",
    "password=<abc123!>": "a password",
    "postgresql://bob:<s3cret>@db.example.org/x": "a password",
    "Das WLAN-Passwort lautet <geheim123>": "a password",
    "Le mot de passe est <Soleil22>": "a password",
    "my PIN is <4821>": "a PIN",
    "PIN: <48 21> and more": "a PIN",
    "The pin code of my bank card is <four eight two one>": "a PIN",
    "<1234> is the PIN of my card": "a PIN",
    "The door code is <4821#>": "a door code",
    "Gate code <7731>": "a door code",
    "the code for the front gate is <2580>": "a door code",
    "alarm code: <9 1 1 2>": "a door code",
    "safe combination <12-34-56>": "a door code",
}
"""Texts with a password between < and >."""

HARMLESS = [
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
    "my password is required to be long",
    "the password is wrong",
    "the password is expired.",
    "the password is case-sensitive",
    "The password is in the vault",
    "The password for my account is the same as before",
    "Passwords are terrible.",
    "what is the password",
    "That is my password",
    "I forgot my password",
    "password: str = None",
    "password = get_password()",
    "password: ****",
    "password: https://vault.example.org/x",
    "the boarding pass: gate 12",
    "LED pin is 13",
    "my pin is on the jacket",
    "Pin 3 items to the board",
    "The error code is 4041",
    "area code 415 555 2671",
    "the building code of 2019 says so",
    "the security code review is on Monday",
    "the combination of tea and milk is 100 times better",
    "the key is under the mat",
    "compass: 1234",
]


@pytest.mark.parametrize("marked", [*(f"Use this: <{secret}>" for secret in SECRETS), *PASSWORDS])
def test_it_is_found_where_it_stands(marked: str) -> None:
    before, _, rest = marked.partition("<")
    secret, _, after = rest.partition(">")
    text = before + secret + after
    (found,) = find_secrets(text)
    assert found.kind == PASSWORDS.get(marked, SECRETS.get(secret))
    assert text[found.start : found.end] == secret
    masked = mask_secrets(text)
    assert masked == f"{before}[{found.kind}]{after}"
    assert mask_secrets(masked) == masked


@pytest.mark.parametrize("text", HARMLESS)
def test_a_text_without_a_secret_is_left_alone(text: str) -> None:
    assert find_secrets(text) == []
    assert mask_secrets(text) == text


def test_a_card_is_found_among_other_numbers() -> None:
    text = "card 4111 1111 1111 1111 12/27, then 5555 5555 5555 4444 123"
    card = "[the number of a payment card]"
    assert mask_secrets(text) == f"card {card} 12/27, then {card} 123"


def test_two_secrets_are_masked_each() -> None:
    text = f"a sk-{LONG}, b 4111111111111111."
    assert mask_secrets(text) == "a [an API key of OpenAI], b [the number of a payment card]."
