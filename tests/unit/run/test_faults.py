"""A planted fault: how it is called, chosen, compiled, claimed, and the proof that it is there, or is not."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from test_benches import fake_bench

from fake_trials import fake_record, tax_truth
from tlstax.checks import judge
from tlstax.cli.machine_command import table_text
from tlstax.plan.order import cases, plan
from tlstax.records.trial import MappedLibrary, PlantedClaim, ServerClaim, Specimen, Trial, TrialRecord
from tlstax.run import external
from tlstax.run.benches import Benches, left_out
from tlstax.specimens import catalogue
from tlstax.specimens.resolve import named_fault
from tlstax.specimens.server_build import ServerBuild
from tlstax.stats.wording import subject_label
from tlstax.study import Study, load_study, override
from tlstax.study.factors import CaseLevels, ServerChoice
from tlstax.study.labels import full_label, label_levels
from tlstax.study.level_names import FAULTS, VARIANTS
from tlstax.study.needs import faults
from tlstax.support.errors import MachineFault, UserMistake
from tlstax.tools.probes import specimen

STUDY = load_study("auth-rng")
NAME, VARIANT = "rand-per-byte", "groups-lifted"
FILE = MappedLibrary(path=f"/kept/libtlstax-fault-{NAME}.so", sha256="fa" * 32)


def test_every_fault_that_a_study_may_name_can_be_compiled() -> None:
    assert tuple(recipe.name for recipe in catalogue.FAULTS) == FAULTS
    assert {name for name in FAULTS if catalogue.RECIPES[name].kind == "variant"} == set(VARIANTS)
    assert all(catalogue.RECIPES[name].kind == "fault" for name in FAULTS if name not in VARIANTS)


def test_a_server_with_a_fault_is_called_so() -> None:
    assert ServerChoice("mysql-9.7", fault=NAME).words() == "mysql-9.7 with rand-per-byte planted"
    assert ServerChoice("mysql-9.7", "openssl-3.5.5", 2, NAME).words() == (
        "mysql-9.7 over openssl-3.5.5 with rand-per-byte planted, a second one"
    )
    levels = {"server": "mysql-9.7", "tls_library": "openssl-3.5.5", "fault": NAME, "tls": "off"}
    assert subject_label(levels, STUDY) == "mysql-9.7 over openssl-3.5.5 with rand-per-byte planted"
    assert subject_label({**levels, "fault": "none"}, STUDY) == "mysql-9.7 over openssl-3.5.5"
    assert label_levels({"fault": NAME, "connections": 1}) == "rand-per-byte planted"
    assert label_levels({"fault": "none", "connections": 1}) == "nothing planted"


def test_a_variant_is_called_one_and_never_a_fault() -> None:
    lifted = "its TLS groups lifted (a variant of ours)"
    assert ServerChoice("mysql-9.7", fault=VARIANT).words() == f"mysql-9.7 with {lifted}"
    assert label_levels({"fault": VARIANT, "connections": 1}) == lifted
    study = load_study("hello-retry")
    said = [full_label(case, study) for case in cases(study)]
    assert sum(lifted in words for words in said) == sum(
        case.levels["fault"] == VARIANT for case in cases(study)
    )
    assert not any("planted" in words or "fault" in words for words in said)
    by_variant = study.model_copy(
        update={"baseline": {"fault": "none"}, "treatments": ({"fault": "none"}, {"fault": VARIANT})}
    )
    assert label_levels({"fault": "none"}, by_variant) == "the server as it comes"
    shown = table_text(
        specimen.Listing(specimens=(specimen.of_recipe(catalogue.RECIPES[VARIANT]),)),
        width=120,
        colour=False,
    )
    assert "Our own variants" in shown
    assert "ault" not in shown


def test_a_variant_that_is_missing_is_invalid_in_words_of_its_own() -> None:
    record = planted_record(case_of=VARIANT, claimed=False, mapped=())
    assert record.claim is not None
    claim = record.claim.model_copy(update={"planted": PlantedClaim(name=VARIANT, sha256="aa" * 32)})
    verdict = judge(record.model_copy(update={"claim": claim}))
    assert verdict.reasons == ("groups-lifted is not loaded into mysql-9.7, where it is meant to be",)


def test_a_fault_makes_another_server_of_it() -> None:
    with_it = [case for case in cases(STUDY) if case.levels["fault"] == NAME]
    assert {case.levels["tls"] for case in with_it} == {"off", "1.3"}
    assert CaseLevels.of(with_it[0].levels).server_choice == CaseLevels.of(with_it[1].levels).server_choice
    assert (
        CaseLevels.of(with_it[0].levels).server_choice
        != CaseLevels.of({**with_it[0].levels, "fault": "none"}).server_choice
    )
    assert all("with rand-per-byte planted" in full_label(case, STUDY) for case in with_it)
    assert faults(STUDY) == (NAME,)
    found = plan(STUDY)
    assert "mysql-9.7 over openssl-3.5.5 with rand-per-byte planted" in found.servers
    assert NAME in found.specimens
    assert faults(override(STUDY, "fault", ["none"])) == ()


def test_a_fault_that_is_planted_everywhere_does_not_go_without_saying() -> None:
    study = with_fault(override(load_study("tax"), "server", ["mysql-9.7"]), [NAME])
    assert all("rand-per-byte planted" in full_label(case, study) for case in cases(study))
    sound = with_fault(study, ["none"])
    assert not any("planted" in full_label(case, sound) for case in cases(sound))


def test_no_two_cases_of_the_study_are_called_the_same() -> None:
    named = [full_label(case, STUDY) for case in cases(STUDY)]
    assert len(set(named)) == len(named)


def with_fault(study: Study, levels: list[str]) -> Study:
    return override(study, "fault", levels)


def test_an_unknown_fault_is_a_mistake() -> None:
    with pytest.raises(UserMistake, match="did you mean 'rand-per-byte'"):
        with_fault(STUDY, ["rand-per-bite"])


def test_a_fault_is_never_planted_in_a_guest() -> None:
    study = with_fault(load_study("tax"), ["none", NAME])
    with pytest.raises(UserMistake, match="keeps what it has: fault cannot be chosen there"):
        external.check_external(study)


def test_what_cannot_be_planted_can_be_left_out() -> None:
    study = override(with_fault(load_study("tax"), ["none", NAME]), "server", ["mysql-9.7"])
    sentence = left_out(UserMistake("no", remedy="do"), study, {"fault": NAME}).sentence()
    assert sentence.endswith("or leave it out with --set fault=none")


def planted_record(*, case_of: str, claimed: bool, mapped: tuple[MappedLibrary, ...] | None) -> TrialRecord:
    """A trial of a case with this fault, whose server was started with the plant or without."""
    tax = next(case for case in cases(load_study("tax")) if case.levels["tls"] == "1.3")
    case = tax.model_copy(update={"levels": tax.levels | {"fault": case_of}})
    record = fake_record(Trial(block=0, position=0, case=case), tax_truth(tax), duration_s=0.1)
    claim = ServerClaim(
        name="mysql-9.7",
        version="9.7.4-2",
        program="/kept/mysqld",
        pid=70,
        data_directory="/data",
        planted=PlantedClaim(name=NAME, sha256=FILE.sha256) if claimed else None,
    )
    seen = {
        "version": "9.7.4",
        "answering_pid": 70,
        "program": "/kept/mysqld",
        "listening_port": 13306,
        "data_directory": "/data",
        "mapped_faults": mapped,
    }
    assert record.server is not None
    claim = claim.model_copy(update={"version": "9.7.4"})
    return record.model_copy(update={"claim": claim, "server": record.server.model_copy(update=seen)})


@pytest.mark.parametrize(("case_of", "claimed", "mapped"), [(NAME, True, (FILE,)), ("none", False, ())])
def test_what_was_planted_and_nothing_else_is_valid(
    case_of: str, claimed: bool, mapped: tuple[MappedLibrary, ...]
) -> None:
    assert judge(planted_record(case_of=case_of, claimed=claimed, mapped=mapped)).value == "valid"


OTHER = FILE.model_copy(update={"sha256": "0b" * 32})


@pytest.mark.parametrize(
    ("case_of", "claimed", "mapped", "reason"),
    [
        (NAME, True, (), "rand-per-byte is not loaded into mysql-9.7, where it is meant to be"),
        (NAME, True, (OTHER,), f"{FILE.path} is loaded into mysql-9.7, and is not rand-per-byte"),
        ("none", False, (FILE,), f"{FILE.path} is loaded into mysql-9.7, and nothing of ours is meant to be"),
        (NAME, False, (), "the case asks for rand-per-byte, and mysql-9.7 was started with none"),
        ("none", True, (FILE,), "the case asks for none, and mysql-9.7 was started with rand-per-byte"),
    ],
)
def test_a_plant_that_is_missing_or_too_much_is_invalid(
    case_of: str, claimed: bool, mapped: tuple[MappedLibrary, ...], reason: str
) -> None:
    verdict = judge(planted_record(case_of=case_of, claimed=claimed, mapped=mapped))
    assert verdict.value == "invalid"
    assert reason in "; ".join(verdict.reasons)


def test_a_plant_that_nobody_looked_for_is_unknown() -> None:
    verdict = judge(planted_record(case_of=NAME, claimed=True, mapped=None))
    assert (verdict.value, len(verdict.reasons)) == ("unknown", 1)
    assert "not known whether rand-per-byte is loaded into mysql-9.7" in verdict.reasons[0]


@pytest.fixture
def _own_shelf(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TLSTAX_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("TLSTAX_CACHE", str(tmp_path / "cache"))


@pytest.mark.usefixtures("_own_shelf")
def test_a_machine_without_a_compiler_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    programs = tmp_path / "programs"
    programs.mkdir()
    for name in ("sh", "setpriv"):
        (programs / name).symlink_to(shutil.which(name) or "")
    monkeypatch.setenv("PATH", str(programs))
    with pytest.raises(MachineFault) as caught:
        named_fault(NAME, lambda _: None)
    assert caught.value.sentence() == (
        "rand-per-byte, a fault of ours, needs cc, which is not on this machine's PATH; "
        "install a C compiler (package gcc)"
    )


@pytest.mark.usefixtures("_own_shelf")
def test_a_name_that_is_no_fault_is_a_mistake() -> None:
    with pytest.raises(UserMistake, match=r"there is no fault named 'mysql-9\.7'"):
        named_fault("mysql-9.7", lambda _: None)


def test_a_root_is_told_by_its_loader_and_others_by_their_environment(tmp_path: Path) -> None:
    loader = tmp_path / "usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2"
    loader.parent.mkdir(parents=True)
    loader.touch()
    specimen = Specimen(name="mysql-9.7", kind="server", version="9.7.4", origin="Debian sid")
    in_root = ServerBuild(specimen, "mysql", Path("/mysqld"), root=tmp_path)
    preload = Path("/kept/fault.so")
    assert in_root.command(preload=preload)[:3] == [str(loader), "--preload", str(preload)]
    assert in_root.environment(preload=preload) == {}
    alone = ServerBuild(specimen, "mysql", Path("/mysqld"))
    assert alone.command(preload=preload) == ["/mysqld"]
    assert alone.environment(preload=preload) == {"LD_PRELOAD": str(preload)}
    assert alone.environment() == {}


def test_each_server_gets_its_own_fault() -> None:
    """Of the study's servers one is planted, and trials of the others never run on it."""
    made = Benches(None, ())  # type: ignore[arg-type] # no machine is asked for
    for choice in {case.levels.server_choice for case in cases(STUDY)}:
        made.add(choice, fake_bench())
    for case in cases(STUDY):
        with made.awake(case.levels):
            awake = [c for c, bench in made.benches.items() if bench.server.running]  # type: ignore[attr-defined]
            assert [choice.fault for choice in awake] == [case.levels["fault"]]
