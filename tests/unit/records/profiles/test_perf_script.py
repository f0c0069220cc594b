"""What perf script printed becomes stacks: by side, from the root, with names that people read."""

from __future__ import annotations

from pathlib import Path

import pytest

from tlstax.records.profiles.perf_script import parse, readable
from tlstax.records.profiles.stacks import CUT_OFF, KERNEL, UNKNOWN, Frame, Side, SideProfile, frames

RECORDED = Path(__file__).parent / "recorded"
SERVER, CLIENT, OTHER = 4001, 4002, 4003
PIDS: dict[int, Side] = {SERVER: "server", CLIENT: "client"}


def recorded(name: str) -> dict[Side, SideProfile]:
    """The samples in a text that perf 6.1 printed; its paths are cut to base names, its processes renamed."""
    with (RECORDED / f"perf-script-{name}.txt").open(encoding="utf-8") as lines:
        return parse(lines, PIDS).sides


def sample(*chain: str, pid: int = SERVER) -> list[str]:
    """A sample as perf script prints it, from the leaf, each frame `function (file)`."""
    kernel = "[kernel.kallsyms]"
    addresses = (
        "ffffffff81000130" if kernel in frame or "[unknown] ([unknown])" in frame else "1f" for frame in chain
    )
    return [
        f"{pid} ",
        *(f"\t{address:>16} {frame}" for address, frame in zip(addresses, chain, strict=True)),
        "",
    ]


def stacks(lines: list[str]) -> dict[str, int]:
    return parse(lines, PIDS).sides["server"].stacks


@pytest.mark.parametrize("name", ["mysql-9.7", "openssl-3.5.5"])
def test_every_recorded_sample_of_the_two_processes_is_counted_on_its_side(name: str) -> None:
    text = (RECORDED / f"perf-script-{name}.txt").read_text(encoding="utf-8")
    sides = recorded(name)
    assert sides["server"].samples == text.count(f"{SERVER} \n")
    assert sides["client"].samples == text.count(f"{CLIENT} \n")
    libraries = {frame.library for side in sides.values() for stack in side.stacks for frame in frames(stack)}
    assert {KERNEL, "mysqld", "tlstax-engine", "libc.so.6"} <= libraries
    assert not [library for library in libraries if "/" in library or "(" in library]


def test_a_signature_is_found_below_the_handshake_that_asked_for_it() -> None:
    signing = [s for s in recorded("openssl-3.5.5")["server"].stacks if "rsa_sign_directly" in s]
    assert signing
    names = [frame.text() for frame in frames(signing[0])]
    order = ["sslaccept [mysqld]", "state_machine [libssl.so.3]", "EVP_DigestSignFinal [libcrypto.so.3]"]
    assert [name for name in names if name in order] == order
    assert frames(signing[0])[0] == Frame(UNKNOWN, "libc.so.6")


def test_a_stack_that_was_not_kept_whole_says_so_at_its_root() -> None:
    for sides in (recorded("mysql-9.7"), recorded("openssl-3.5.5")):
        for stack in sides["server"].stacks:
            whole = stack.startswith((f"{UNKNOWN} [libc.so.6];", "_start ["))
            assert whole or frames(stack)[0].function == CUT_OFF
    cut = stacks(sample("memcpy (/lib/libc.so.6)", "run (/sbin/mysqld)", "[unknown] ([unknown])"))
    # The unwinder's own mark is an address of all ones.
    marked = [
        line.replace("ffffffff81000130", "f" * 16)
        for line in sample("run (/x/mysqld)", "[unknown] ([unknown])")
    ]
    assert list(stacks(marked)) == [f"{CUT_OFF};run [mysqld]"]
    assert [stack.startswith(CUT_OFF) for stack in cut] == [True]


@pytest.mark.parametrize(
    ("root", "whole"),
    [
        (("start_thread (libpthread-2.13.so)", "clone (libc-2.13.so)"), True),
        (("main (mysqld)", "__libc_start_main@@GLIBC_2.34 (libc.so.6)", "_start (mysqld)"), True),
        (("[unknown] (libc.so.6)", "[unknown] (libc.so.6)", "[unknown] (mysqld)"), True),
        (("[unknown] (libc.so.6)", "[unknown] (libc.so.6)"), True),
        (("run (mysqld)", "ret_from_fork_asm ([kernel.kallsyms])"), True),
        (("run (mysqld)", "[unknown] (libc.so.6)"), False),
        (("run (mysqld)", "[unknown] (mysqld)"), False),
        (("read (libc.so.6)", "entry_SYSCALL_64_after_hwframe ([kernel.kallsyms])"), False),
    ],
)
def test_where_a_thread_starts(root: tuple[str, ...], whole: bool) -> None:
    (stack,) = stacks(sample("work (mysqld)", *root))
    assert stack.startswith(CUT_OFF) is not whole


def test_files_are_named_without_their_folders() -> None:
    lines = sample(
        "tcp_sendmsg ([kernel.kallsyms])",
        "[unknown] ([unknown])",
        "do_filter ([nf_tables])".replace("[nf_tables]", "[kernel.kallsyms]"),
        "__vdso_gettimeofday ([vdso])",
        "SSL_write (/a folder (x86)/libssl.so.3 (deleted))",
        "[unknown] (//anon)",
        "clone (/lib/libc.so.6)",
    )
    (stack,) = stacks(lines)
    assert stack.split(";") == [
        "clone [libc.so.6]",
        "[unknown] [anon]",
        "SSL_write [libssl.so.3]",
        "__vdso_gettimeofday [vdso]",
        "do_filter [kernel]",
        "[unknown] [kernel]",
        "tcp_sendmsg [kernel]",
    ]


def test_the_work_that_perf_causes_and_other_processes_are_left_out() -> None:
    own = sample(
        "memcpy ([kernel.kallsyms])", "__perf_event_task_sched_in ([kernel.kallsyms])", "clone (libc.so.6)"
    )
    other = sample("clone (libc.so.6)", pid=OTHER)
    assert stacks(own + other) == {}


def fork(child: int, parent: int) -> str:
    return f" {parent} PERF_RECORD_FORK({child}:{child}):({parent}:{parent})"


def test_what_a_servers_processes_have_started_is_the_servers() -> None:
    """Those that were there before are told of as well, in the beginning."""
    lines = [
        fork(SERVER, 1),
        fork(4005, SERVER),
        fork(OTHER, CLIENT),
        *sample("main (postgres)", pid=4005),
        *sample("main (postgres)", pid=SERVER),
        *sample("main (engine)", pid=OTHER),
        fork(4006, 4005),
        *sample("main (postgres)", pid=4006),
        fork(4005, 1),
        *sample("main (cron)", pid=4005),
    ]
    sides = parse(lines, PIDS, ["server"]).sides
    assert sum(sides["server"].stacks.values()) == 3
    assert sides["client"].stacks == {}
    assert sum(parse(lines, PIDS).sides["server"].stacks.values()) == 1


def test_equal_stacks_are_counted_together_and_lost_samples_by_number() -> None:
    once = sample("work (mysqld)", "clone (libc.so.6)")
    lost = ["4001 PERF_RECORD_LOST lost 17", "", "PERF_RECORD_LOST_SAMPLES lost 3", ""]
    found = parse([*once, *lost, *once], PIDS)
    assert found.sides["server"].stacks == {"clone [libc.so.6];work [mysqld]": 2}
    assert found.sides["client"].samples == 0
    assert found.lost == 20


@pytest.mark.parametrize("text", ["", "\n\n", "no samples here", "4001 \n", "\tnot hex at all (x)\n"])
def test_a_text_without_samples_gives_none(text: str) -> None:
    assert parse(text.splitlines(), PIDS).sides["server"].samples == 0


@pytest.mark.parametrize(
    ("symbol", "name"),
    [
        ("RSA_sign", "RSA_sign"),
        ("__libc_start_main@@GLIBC_2.34", "__libc_start_main"),
        ("do_command.part.0", "do_command"),
        ("ssl3_read_n.isra.0.cold", "ssl3_read_n"),
        ("foo.constprop.12", "foo"),
        ("trp_work [clone .cold]", "trp_work"),
        (
            "std::thread::_State_impl<std::thread::_Invoker<std::tuple<Detached_thread, void (*)(log_t*), "
            "log_t*> > >::_M_run",
            "std::thread::_State_impl::_M_run",
        ),
        ("dispatch_command(THD*, COM_DATA const*, enum_server_command)", "dispatch_command"),
        ("bool check<int>(std::pair<int, int> const&)", "check"),
        ("Item::val(long) const", "Item::val"),
        ("operator new", "operator new"),
        ("operator delete[]", "operator delete[]"),
        ("operator new(unsigned long)", "operator new"),
        ("Key::operator<(Key const&) const", "Key::operator<"),
        ("Key::operator<=>", "Key::operator<=>"),
        ("bool operator< <char>(std::basic_string<char> const&, char const*)", "operator<"),
        ("std::ostream& operator<<(std::ostream&, Item const&)", "operator<<"),
        ("Detached_thread::operator()<void (*)(log_t*), log_t*>", "Detached_thread::operator()"),
        ("std::unique_ptr<A>::operator->() const", "std::unique_ptr::operator->"),
        ("(anonymous namespace)::find(int)", "(anonymous namespace)::find"),
        ("a::(anonymous namespace)::B<C>::find", "a::(anonymous namespace)::B::find"),
        ("f()::{lambda(int)#1}::operator()(int) const", "f::{lambda#1}::operator()"),
        ("std::function<void (THD*)>::operator()", "std::function::operator()"),
        (
            "<std::sys::thread::unix::Thread>::new::thread_start",
            "std::sys::thread::unix::Thread::new::thread_start",
        ),
        (
            "<alloc::vec::Vec<T> as core::iter::Extend<T>>::extend",
            "<alloc::vec::Vec as core::iter::Extend>::extend",
        ),
        ("core::ops::FnOnce::call_once{{vtable.shim}}", "core::ops::FnOnce::call_once{{vtable.shim}}"),
        ("core::slice::sort::<u64>", "core::slice::sort"),
        ("<tlstax_load::worker::Worker>::work", "tlstax_load::worker::Worker::work"),
        ("<hdrhistogram::Histogram<u64>>::record", "hdrhistogram::Histogram::record"),
        ("<[u8]>::starts_with", "<[u8]>::starts_with"),
        ("a<b(c", "a"),
        ("<", "<"),
        (".part.0", ".part.0"),
    ],
)
def test_names_as_people_read_them(symbol: str, name: str) -> None:
    assert readable(symbol) == name


def test_names_of_the_kernel_stay_as_they_are() -> None:
    (stack,) = stacks(sample("finish_task_switch.isra.0 ([kernel.kallsyms])", "clone (libc.so.6)"))
    assert stack.endswith("finish_task_switch.isra.0 [kernel]")
