"""May these runs be compared? What should hold between them and whether it does, the author's rules, and waivers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rlreport.comparators.change_results import RuleFinding, WaiverUse
from rlreport.comparators.comparability import Comparability, ComparabilityItem
from rlreport.comparators.comparability_items import NO_DIFFERENCE
from rlreport.comparators.judge import Judgement
from rlreport.comparators.replicates import ReplicateCheck
from rlreport.comparators.results import Change
from rlreport.report.model import Block, Bullets, Code, Column, Paragraph, Row, Section, Strong, Table, Text
from rlreport.run import format as fmt

STANDING_WORDS = {"holds": "holds", "fails": "does not hold", "unknown": "not known"}
RULE_WORDS = {"holds": "kept", "violated": "broken", "unknown": "cannot be checked"}
#: The order in which items are shown: what a reader must act on first.
_ORDER = ("fails", "unknown", "holds")


@dataclass(frozen=True, slots=True)
class ComparedPair:
    """One pair for this section: how a page names it, its list, what changed, and its final judgement where there is one."""

    title: str
    comparability: Comparability
    change: Change
    judgement: Judgement | None = None


def comparability_section(pairs: Sequence[ComparedPair], replicates: Sequence[ReplicateCheck] = ()) -> Section | None:
    """The list of what holds between the runs of each pair; None for a report that compares nothing.

    A report of one pair has a row for each condition that fails or is not known, with the reason, and a sentence for those
    that hold; of several pairs one column a pair, and below the reasons of what does not hold and a sentence for what holds
    in all of them. Rules, waivers and replicates follow where there are any.
    """
    if not pairs:
        return None
    blocks: list[Block] = [Paragraph(_summary(pair, named=len(pairs) > 1)) for pair in pairs]
    blocks += _one_pair(pairs[0].comparability) if len(pairs) == 1 else _many_pairs(pairs)
    if pairs[0].judgement is not None:
        blocks += _family(pairs[0].judgement)
    rules, waivers = _rules_table(pairs), _waivers_table(pairs)
    blocks += [table for table in (rules, waivers) if table is not None]
    blocks += _replicates(replicates)
    return Section("comparability", "May these runs be compared?", tuple(blocks))


def _summary(pair: ComparedPair, *, named: bool) -> Text:
    found = pair.comparability
    holds, fails, unknown = (len(found.of(standing)) for standing in ("holds", "fails", "unknown"))
    expected = fails - len(found.unexpected)
    as_declared = f" ({expected} of them as declared or waived)" if expected else ""
    name = f"{pair.title}: " if named else ""
    if pair.change.blocking:
        verdict = "No"
    elif found.unexpected or unknown:
        verdict = "Yes, with what does not hold or is not known in mind"
    else:
        verdict = "Yes"
    does, are = "does" if fails == 1 else "do", "is" if unknown == 1 else "are"
    counts = (
        f"Of {len(found.items)} conditions {holds} {'holds' if holds == 1 else 'hold'}, {fails} {does} not{as_declared}, "
        f"and {unknown} {are} not known."
    )
    return (name, Strong(f"{verdict}."), f" {counts}")


def _ordered(items: Sequence[ComparabilityItem]) -> list[ComparabilityItem]:
    return sorted(items, key=lambda item: (_ORDER.index(item.standing), item.expected))


def _standing(item: ComparabilityItem) -> str:
    return "differs, as declared or waived" if item.expected else STANDING_WORDS[item.standing]


def _one_pair(found: Comparability) -> list[Block]:
    columns = (Column("What should hold", width=32), Column("Does it?", width=20), Column("Why", width=48))
    rows = tuple(
        Row(((item.title,), (_standing(item),), (item.reason,)), marked=item.standing == "fails" and not item.expected)
        for item in _ordered(found.items)
        if item.standing != "holds"
    )
    blocks: list[Block] = []
    if rows:
        blocks.append(Table("comparability-list", "What does not hold between the two runs, or is not known", columns, rows))
    held = [_held(item) for item in found.of("holds")]
    if held:
        blocks.append(Paragraph((Strong("What holds:"), f" {'; '.join(held)}.")))
    return blocks


def _held(item: ComparabilityItem) -> str:
    title = f"{item.title[0].lower()}{item.title[1:]}"
    return title if item.reason == NO_DIFFERENCE else f"{title} ({item.reason})"


def _many_pairs(pairs: Sequence[ComparedPair]) -> list[Block]:
    columns = (Column("What should hold"), *(Column(pair.title) for pair in pairs))
    rows, held = [], []
    titles = {item.name: item.title for pair in pairs for item in pair.comparability.items}
    for name, title in titles.items():
        items = [{item.name: item for item in pair.comparability.items}.get(name) for pair in pairs]
        if all(each is not None and each.standing == "holds" for each in items):
            held.append(f"{title[0].lower()}{title[1:]}")
            continue
        failing = any(each is not None and each.standing == "fails" and not each.expected for each in items)
        cells = ((title,), *((fmt.UNKNOWN if each is None else _standing(each),) for each in items))
        rows.append(Row(cells, marked=failing))
    blocks: list[Block] = []
    if rows:
        caption = "What does not hold between the runs of a pair, or is not known"
        blocks.append(Table("comparability-list", caption, columns, tuple(rows)))
    blocks += _reasons(pairs, tuple(titles.values()))
    if held:
        blocks.append(Paragraph((Strong("What holds in all pairs:"), f" {'; '.join(held)}.")))
    return blocks


def _reasons(pairs: Sequence[ComparedPair], order: Sequence[str]) -> list[Block]:
    """Why something does not hold, once for all pairs that share the reason."""
    by_reason: dict[tuple[str, str], list[str]] = {}
    for pair in pairs:
        for item in pair.comparability.unexpected:
            by_reason.setdefault((item.title, item.reason), []).append(pair.title)
    items: list[Text] = []
    for (title, reason), titles in sorted(by_reason.items(), key=lambda found: order.index(found[0][0])):
        who = "all pairs" if len(titles) == len(pairs) else fmt.join_words(titles)
        items.append((Strong(title), f" does not hold for {who}: {reason}."))
    return [Bullets(tuple(items))] if items else []


def _family(judgement: Judgement) -> list[Block]:
    """Which claims are primary, where several are tested together or some are not."""
    sentences = []
    if judgement.family > 1:
        sentences.append(
            f"{judgement.family} primary comparisons are tested together: their p-values are adjusted by Holm's method, so "
            "that the chance of any false claim among them is 5 %; the intervals shown are each for itself."
        )
    if judgement.exploratory:
        names = fmt.join_words([name.replace("_", " ") for name in judgement.exploratory])
        sentences.append(f"Exploratory, and not adjusted for the number of comparisons: {names}.")
    return [Paragraph((" ".join(sentences),))] if sentences else []


def _rules_table(pairs: Sequence[ComparedPair]) -> Table | None:
    columns = (Column("Rule", width=28), Column("Level", width=8), Column("State", width=14), Column("Found", width=50))
    found: dict[RuleFinding, list[str]] = {}
    for pair in pairs:
        for finding in pair.change.rules:
            found.setdefault(finding, []).append(pair.title)
    rows = [
        Row(
            (
                _rule_text(finding),
                (finding.level if finding.kind != "free" else "",),
                (RULE_WORDS[finding.standing],),
                (finding.message if len(titles) == len(pairs) else f"{fmt.join_words(titles)}: {finding.message}",),
            ),
            marked=finding.standing == "violated",
        )
        for finding, titles in found.items()
    ]
    return Table("rules", "The author's rules", columns, tuple(rows)) if rows else None


def _rule_text(finding: RuleFinding) -> Text:
    reason = f", {finding.reason}" if finding.reason else ""
    return (Code(finding.knob), f" {finding.kind}{reason}")


def _waivers_table(pairs: Sequence[ComparedPair]) -> Table | None:
    uses: dict[WaiverUse, list[str]] = {}
    for pair in pairs:
        for use in pair.change.waivers:
            uses.setdefault(use, []).append(pair.title)
    if not uses:
        return None
    columns = (Column("Waived", width=34), Column("Reason", width=40), Column("State", width=26))
    rows = []
    for use, titles in uses.items():
        who = "" if len(titles) == len(pairs) else f" ({fmt.join_words(titles)})"
        rows.append(Row(((Code(use.knob),), (use.reason,), (f"{_waiver_state(use)}{who}",)), marked=use.state == "expired"))
    return Table("waivers", "Differences that the author accepts", columns, tuple(rows))


def _waiver_state(use: WaiverUse) -> str:
    until = f"until {use.expires}" if use.expires else "without an end"
    words = {
        "holds": f"holds {until}",
        "expired": f"expired on {use.expires}: it no longer holds",
        "not judged": f"expires {use.expires}, not judged",
        "meets no difference": f"meets no difference, {until}",
    }
    return words[use.state]


def _replicates(checks: Sequence[ReplicateCheck]) -> list[Block]:
    items: list[Text] = []
    for check in checks:
        if check.are_replicates:
            seeds = "" if check.seeds_known else ", whose seeds are not known"
            words = f"{fmt.join_words(check.accepted)} are replicates{seeds}."
        else:
            words = "no two runs are replicates."
        items.append((Strong(f"Group {check.group}"), f": {words}"))
        items += [(Code(run_id), f" is refused: {reason}.") for run_id, reason in check.refused.items()]
    return [Bullets(tuple(items))] if items else []


def comparability_data(found: Comparability) -> list[dict[str, object]]:
    """The list for report.json: one object a condition, in a fixed order."""
    return [
        {
            "name": item.name,
            "title": item.title,
            "standing": item.standing,
            "expected": item.expected,
            "reason": item.reason,
        }
        for item in found.items
    ]


def policy_data(change: Change) -> dict[str, object]:
    """Rules, waivers, invariants and what is not known, for report.json."""
    return {
        "rules": [
            {
                "knob": rule.knob,
                "rule": rule.kind,
                "level": rule.level,
                "standing": rule.standing,
                "message": rule.message,
                "reason": rule.reason,
            }
            for rule in change.rules
        ],
        "waivers": [
            {
                "knob": use.knob,
                "reason": use.reason,
                "expires": None if use.expires is None else use.expires.isoformat(),
                "state": use.state,
                "keys": list(use.keys),
            }
            for use in change.waivers
        ],
        "invariants": [
            {"run": f.run_id, "name": f.name, "standing": f.standing, "message": f.message, "source": f.source}
            for f in change.invariants
        ],
        "not_known": list(change.not_known),
        "tolerated": change.tolerated,
    }
