"""Deals: the published values, a second implementation, and chance as the rules count it."""

from __future__ import annotations

import hashlib
import hmac
import json
from itertools import combinations, pairwise, permutations
from math import comb
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ronda_core import fair, hand, rules
from ronda_core.cards import PACK, STEP, cards_text

DATA = Path(__file__).parent.parent / "data"
VECTORS: list[dict[str, Any]] = json.loads((DATA / "fair-vectors.json").read_text(encoding="utf-8"))
MASTER = bytes(range(32))

LEGAL_TABLES = 51_968
TABLES = 91_390


def entries_of(vector: dict[str, Any]) -> tuple[fair.Entry, ...]:
    return tuple(fair.Entry(name, bytes.fromhex(given)) for name, given in vector["entries"])


def dealer_of(vector: dict[str, Any]) -> fair.Dealer:
    master = bytes.fromhex(vector["master"])
    return fair.Dealer(master, vector["scope"], entries_of(vector), vector["players"])


def keys(count: int, label: bytes = b"") -> list[bytes]:
    """Fixed keys, so that a test of chance never fails by chance."""
    return [hashlib.sha256(b"test" + label + n.to_bytes(4, "big")).digest() for n in range(count)]


@pytest.mark.parametrize("vector", VECTORS, ids=[vector["scope"] for vector in VECTORS])
def test_the_published_values_are_reproduced(vector: dict[str, Any]) -> None:
    master = bytes.fromhex(vector["master"])
    entries = entries_of(vector)
    dealer = dealer_of(vector)
    assert fair.commitment(master, vector["commitment_scope"]) == vector["commitment"]
    assert [
        fair.client_commitment(entry.entropy, vector["scope"], seat)
        for seat, entry in enumerate(entries)
    ] == vector["client_commitments"]
    assert fair.context(entries).hex() == vector["context"]
    assert dealer.first_dealer() == vector["first_dealer"]
    for told in vector["deals"]:
        key = dealer.key("deal", told["hand"])
        assert key.hex() == told["key"]
        deck, shuffles = fair.deal(key, vector["players"])
        assert (cards_text(deck), shuffles) == (told["deck"], told["shuffles"])
        assert dealer.deck(told["hand"]) == deck


# The scheme once more, straight from its description.


def lp(data: bytes) -> bytes:
    return bytes(divmod(len(data), 256)) + data


class Words:
    def __init__(self, key: bytes) -> None:
        self.key, self.data, self.block = key, b"", 0

    def next(self) -> int:
        if not self.data:
            message = lp(b"ronda-fair/1/stream") + self.block.to_bytes(8, "big")
            self.data = hmac.new(self.key, message, hashlib.sha256).digest()
            self.block += 1
        word, self.data = self.data[:4], self.data[4:]
        return int.from_bytes(word, "big")

    def uniform(self, n: int) -> int:
        while (word := self.next()) >= 2**32 - 2**32 % n:
            pass  # drawn again
        return word % n


def described_key(master: bytes, label: str, scope: str, entries: Any, number: int) -> bytes:
    context = lp(b"ronda-fair/1/context")
    for name, entropy in entries:
        context += lp(name.encode()) + lp(entropy)
    message = lp(b"ronda-fair/1/" + label.encode()) + lp(scope.encode())
    message += lp(hashlib.sha256(context).digest()) + number.to_bytes(4, "big")
    return hmac.new(master, message, hashlib.sha256).digest()


def described_deal(words: Words, players: int) -> tuple[int, ...]:
    while True:
        pack = list(range(1, 41))
        for i in range(39, 0, -1):
            j = words.uniform(i + 1)
            pack[i], pack[j] = pack[j], pack[i]
        steps = sorted((card - 1) % 10 for card in pack[3 * players : 3 * players + 4])
        gaps = {after - before for before, after in pairwise(steps)}
        if 0 not in gaps and gaps != {1}:
            return tuple(pack)


@given(
    st.binary(min_size=32, max_size=32),
    st.text("abcZ019-_/", min_size=1, max_size=30),
    st.lists(
        st.tuples(st.text(min_size=1, max_size=9), st.binary(max_size=64)), min_size=2, max_size=4
    ),
    st.integers(1, 2000),
)
@settings(max_examples=60, deadline=None)
def test_a_second_implementation_deals_alike(
    master: bytes, scope: str, entries: list[tuple[str, bytes]], number: int
) -> None:
    players = len(entries)
    dealer = fair.Dealer(master, scope, [fair.Entry(*entry) for entry in entries], players)
    key = described_key(master, "deal", scope, entries, number)
    assert dealer.deck(number) == described_deal(Words(key), players)
    first = described_key(master, "dealer", scope, entries, 0)
    assert dealer.first_dealer() == Words(first).uniform(players)
    seat = number % players
    seed = int.from_bytes(described_key(master, "bot", scope, entries, seat), "big")
    assert dealer.bot_seed(seat) == seed


def test_a_word_that_would_favour_small_numbers_is_skipped() -> None:
    limit = 2**32 - 2**32 % 40
    assert fair._uniform(iter([2**32 - 1, limit, limit - 1]), 40) == 39
    assert fair._uniform(iter([2**32 - 1]), 4) == 3  # nothing to skip
    assert fair._uniform(iter([0]), 40) == 0


@pytest.mark.parametrize("players", [2, 3, 4])
def test_every_deal_is_the_whole_pack_with_a_legal_table(players: int) -> None:
    for key in keys(300):
        deck, _ = fair.deal(key, players)
        assert sorted(deck) == list(PACK)
        assert fair.legal_table(deck[3 * players : 3 * players + 4])


def test_every_card_is_as_likely_in_every_place() -> None:
    decks = 20_000
    counts = [[0] * 41 for _ in range(40)]
    for key in keys(decks):
        for place, card in enumerate(fair.deal(key, 2)[0]):
            counts[place][card] += 1
    # The table favours no suit, but ranks at the ends of the ladder are in fewer runs.
    places = [place for place in range(40) if not 6 <= place < 10]
    expected = decks / 40
    chi = sum((counts[place][card] - expected) ** 2 / expected for place in places for card in PACK)
    freedom = len(places) * 39
    assert abs(chi - freedom) < 5 * (2 * freedom) ** 0.5
    for place in range(6, 10):
        chances = table_chances()
        chi = sum((counts[place][card] - decks * p) ** 2 / (decks * p) for card, p in chances)
        assert abs(chi - 39) < 5 * (2 * 39) ** 0.5


def table_chances() -> list[tuple[int, float]]:
    """How likely each card is in a place of a legal table."""
    steps = [
        four for four in combinations(range(10), 4) if four[3] - four[0] != 3
    ]  # each stands for 4**4 tables
    share = [sum(step in four for four in steps) / len(steps) / 4 for step in range(10)]
    return [(card, share[STEP[card]] / 4) for card in PACK]


def test_neighbours_in_the_deck_are_independent() -> None:
    """The order of two cards that follow each other, as one of 40 * 39 pairs by suit and rank."""
    decks = 6_000
    counts: dict[tuple[int, int], int] = {}
    for key in keys(decks, b"pairs"):
        deck, _ = fair.deal(key, 2)
        for at in (0, 20, 30, 38):
            pair = (STEP[deck[at]], STEP[deck[at + 1]])
            counts[pair] = counts.get(pair, 0) + 1
    chi = 0.0
    for one in range(10):
        for two in range(10):
            expected = 4 * decks * (4 * (3 if one == two else 4)) / (40 * 39)
            chi += (counts.get((one, two), 0) - expected) ** 2 / expected
    assert abs(chi - 99) < 5 * (2 * 99) ** 0.5


def test_43_percent_of_shuffles_are_dealt_again() -> None:
    shuffles = [fair.deal(key, 3)[1] for key in keys(8_000, b"again")]
    legal = LEGAL_TABLES / TABLES
    assert round(1 - legal, 2) == 0.43
    assert abs(len(shuffles) / sum(shuffles) - legal) < 0.015
    assert abs(shuffles.count(1) / len(shuffles) - legal) < 0.02
    assert max(shuffles) > 8  # nothing caps them


def test_51968_of_91390_first_tables_are_legal() -> None:
    assert comb(40, 4) == TABLES
    assert sum(map(fair.legal_table, combinations(PACK, 4))) == LEGAL_TABLES


def test_the_order_of_a_table_does_not_matter() -> None:
    for table in ((6, 7, 8, 9), (7, 18, 29, 40), (1, 11, 5, 9), (1, 2, 3, 5)):
        assert len({fair.legal_table(order) for order in permutations(table)}) == 1


def test_2160_and_40_of_9880_hands_of_three_are_a_ronda_and_a_tringa() -> None:
    game = rules.settings("cafe", 2)
    kinds: list[str | None] = []
    for held in combinations(PACK, 3):
        rest = [card for card in PACK if card not in held]
        table = [next(card for card in rest if STEP[card] == step) for step in (0, 2, 4, 6)]
        rest = [card for card in rest if card not in table]
        dealt, _ = hand.deal(game, 1, 1, [*held, *rest[:3], *table, *rest[3:]], (0, 0))
        kinds.append(hand.set_kind(dealt, 0))
    assert (len(kinds), kinds.count("ronda"), kinds.count("tringa")) == (9880, 2160, 40)
    assert (round(21.86 * 98.80), round(0.405 * 98.80)) == (2160, 40)


@pytest.mark.parametrize("players", [2, 3, 4])
def test_every_seat_deals_first_as_often(players: int) -> None:
    count = 3_000
    dealers = [fair.Dealer(key, "m", [], players).first_dealer() for key in keys(count)]
    expected = count / players
    chi = sum((dealers.count(seat) - expected) ** 2 / expected for seat in range(players))
    assert chi < 15
    assert set(dealers) == set(range(players))


def test_whatever_the_scheme_names_changes_the_deal() -> None:
    entries = (fair.Entry("a@1"), fair.Entry("b@1", b"0" * 16))
    base = fair.Dealer(MASTER, "m", entries, 2)
    others = [
        fair.Dealer(bytes(31) + b"\x01", "m", entries, 2),
        fair.Dealer(MASTER, "n", entries, 2),
        fair.Dealer(MASTER, "m", entries[::-1], 2),
        fair.Dealer(MASTER, "m", entries[:1], 2),
        fair.Dealer(MASTER, "m", (entries[0], fair.Entry("b@1", b"0" * 17)), 2),
        fair.Dealer(MASTER, "m", (fair.Entry("a@"), fair.Entry("1b@1", b"0" * 16)), 2),
    ]
    decks = [dealer.deck(number) for dealer in (base, *others) for number in (1, 2, 3)]
    assert len(set(decks)) == len(decks)
    assert len({base.key(label, 1) for label in ("deal", "dealer", "bot")}) == 3


def test_all_tables_of_a_block_get_one_deal_and_other_blocks_another() -> None:
    """Neither the order of the seats nor the table is in the key, only the sorted roster."""
    roster = tuple(map(fair.Entry, sorted(["b@1", "a@1", "c@1"])))
    tables = [fair.Dealer(MASTER, "cup/3", roster, 2) for _ in range(2)]
    assert len({table.deck(4) for table in tables}) == 1
    assert fair.Dealer(MASTER, "cup/4", roster, 2).deck(4) != tables[0].deck(4)


def test_bots_get_a_seed_each_that_is_no_seed_of_a_deal() -> None:
    dealer = dealer_of(VECTORS[2])
    seeds = [dealer.bot_seed(seat) for seat in range(4)]
    assert len(set(seeds)) == 4
    assert not {seed.to_bytes(32, "big") for seed in seeds} & {
        dealer.key("deal", number) for number in range(5)
    }


def test_a_seeded_run_has_one_master_and_each_of_its_games_another() -> None:
    seed = lp(b"ronda-fair/1/seed") + lp(b"42")
    assert fair.seeded_master(42) == hashlib.sha256(seed).digest()
    assert fair.seeded_master(42, 0) == hashlib.sha256(seed + bytes(4)).digest()
    assert fair.seeded_master(42, 258) == hashlib.sha256(seed + b"\0\0\1\2").digest()
    assert fair.seeded_master(-1) == hashlib.sha256(lp(b"ronda-fair/1/seed") + lp(b"-1")).digest()


def test_no_repr_tells_a_master_or_an_entropy() -> None:
    entry = fair.Entry("a@1", b"secret-entropy!!")
    dealer = fair.Dealer(MASTER, "m", (entry,), 2)
    assert "secret" not in repr((entry, dealer))
    assert entry.entropy.hex() not in repr(entry)
    assert MASTER.hex() not in repr(dealer)
