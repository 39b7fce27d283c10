"""Passwords, PINs and door codes by what they are called, and words that are not one."""

from __future__ import annotations

import pytest

from fivefold.text.secrets_in_text import find_secrets, mask_secrets

SAID = {
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


@pytest.mark.parametrize("marked", SAID)
def test_it_is_found_where_it_stands(marked: str) -> None:
    text = marked.replace("<", "").replace(">", "")
    (found,) = find_secrets(text)
    assert (found.kind, found.is_password) == (SAID[marked], True)
    assert text[found.start : found.end] == marked.partition("<")[2].partition(">")[0]
    masked = mask_secrets(text)
    assert masked == marked.replace(text[found.start : found.end], "").replace("<>", f"[{found.kind}]")
    assert mask_secrets(masked) == masked


@pytest.mark.parametrize(
    "text",
    [
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
    ],
)
def test_a_text_that_tells_none_is_left_alone(text: str) -> None:
    assert find_secrets(text) == []
