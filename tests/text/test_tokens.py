"""The estimate of tokens against a tokenizer that models use."""

from __future__ import annotations

from importlib import resources

import pytest
from tokenizers import Tokenizer

from fivefold import sample
from fivefold.text.passages import tokens

TEXTS = {
    "German": "Die Geschwindigkeitsbegrenzung wurde gestern aufgehoben, und wir fuhren nach München zu Freunden.",
    "French": "L'été dernier, nous avons mangé des crêpes à la fête de ma grand-mère près de l'église.",
    "Greek": "Χθες πήγαμε στη θάλασσα με τους φίλους μας και φάγαμε ψάρι.",
    "Russian": "Вчера мы ездили в Москву и встретили старых друзей, которые живут на берегу реки.",
    "Arabic": "ذهبنا أمس إلى السوق واشترينا بعض الفواكه والخضروات الطازجة",
    "Hebrew": "אתמול הלכנו לשוק וקנינו פירות וירקות טריים",
    "Chinese": "昨天我们去了北京的一家餐馆，和老朋友一起吃了烤鸭。",
    "Japanese": "昨日、友達と一緒に東京の美術館へ行きました。",
    "Korean": "어제 우리는 친구들과 함께 서울에 있는 식당에 갔습니다.",
    "Hindi": "कल हम बाज़ार गए और ताज़ी सब्ज़ियाँ खरीदीं।",
    "Thai": "เมื่อวานเราไปตลาดและซื้อผลไม้สด",
    "emoji": "🎉👩‍👩‍👧‍👦🏳️‍🌈😀🚀",
    "capitals": "THE QUICK BROWN FOX JUMPED OVER THE LAZY DOG WHILE EVERYBODY WATCHED",
    "numbers": "2025-02-14 07700 900123 3.14159 E-47821",
    "hexadecimal": "d41d8cd98f00b204e9800998ecf8427e0cc175b9c0f1b6a831c399e269772661",
    "random": "qzvkx wplmrt bhhgfz yqnncv mprtxz llkjwq vvbnzk",
    "base64": "UjVhZmJ4Q0tuWk9xTHd0eVBvSXVKaEdmRHNBelhjVmJObTEyMzQ1Njc4OTA",
    "code": 'def told(self) -> str:\n    return "" if self.effort == "normal" else f", {self.effort} effort"\n',
}


@pytest.fixture(scope="module")
def llama() -> Tokenizer:
    """The tokenizer of Llama 2, which comes with the embedder that is made of it."""
    held = resources.files("wordllama").joinpath("tokenizers/l2_supercat_tokenizer_config.json")
    return Tokenizer.from_str(held.read_text("utf-8"))


def ratio(text: str, llama: Tokenizer) -> float:
    return tokens(text) / len(llama.encode(text, add_special_tokens=False).ids)


def test_english_is_counted_a_little_too_high(llama: Tokenizer) -> None:
    said = "\n".join(str(record["content"]) for record in sample.memories())
    assert 1.05 < ratio(said, llama) < 1.25


@pytest.mark.parametrize("name", TEXTS)
def test_nothing_is_counted_far_too_low(name: str, llama: Tokenizer) -> None:
    assert 0.75 < ratio(TEXTS[name], llama) < 2.5


def test_nothing_takes_nothing() -> None:
    assert (tokens(""), tokens(" "), tokens("\n\n"), tokens("tea at ten")) == (0, 0, 2, 3)
