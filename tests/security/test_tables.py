"""The page on security says what the attacks are pinned to; the other tests here hold them to it."""

from collections import Counter
from typing import get_args

from tests.security import attacks_delayed
from tests.security.attack import Kind
from tests.security.corpus import ATTACKS
from tests.security.tables import PAGE, table, written


def test_the_page_has_the_table_of_the_corpus():
    assert written(PAGE.read_text()) == table(), "run `python -m tests.security.tables`"


def test_the_corpus_has_attempts_of_every_class():
    assert {attack.kind for attack in ATTACKS.values()} == set(get_args(Kind))


def test_no_attack_is_there_twice():
    sources = Counter(attack.source for attack in ATTACKS.values())
    assert [source for source, times in sources.items() if times > 1] == []


def test_delayed_attacks_are_called_often_enough_to_begin():
    assert attacks_delayed.CALLS > attacks_delayed.WAITED >= 1000
