# SPDX-License-Identifier: Apache-2.0
"""`sallyport-netns enter`: who the command is, what it sees, and what the daemon handed out for it."""
import contextlib
import os
import pathlib
import signal
import socket
import subprocess
import tempfile

import pytest

import helper_rig
from helper_rig import NETNS, until


@pytest.fixture
def entered(rig):
    rig.daemon()
    rig.attach("a", "--search", "corp.example", "--search", "lab.example")
    return lambda *words, **more: rig.ctl("enter", "--id", "a", *words, **more)


def test_status_of_the_command(entered):
    assert entered("--", "sh", "-c", "exit 7").returncode == 7
    assert entered("--", "sh", "-c", "kill -9 $$").returncode == 128 + 9
    assert entered("--", "/nonexistent").returncode == 127
    assert entered("--", "/etc/passwd").returncode == 126
    assert entered("--user", "nobody-of-that-name", "--", "true").returncode == 125


def test_view_and_privileges(entered, rig):
    done = entered("--user", "nobody", "--env", "ADDED=one two", "--", "sh", "-c", "cat /etc/resolv.conf; id -un; "
        "grep -c . /proc/1/cmdline >/dev/null; ls /proc | grep -c '^[0-9]'; grep -E '^(CapEff|CapBnd|NoNewPrivs|Seccomp):'"
        " /proc/self/status; ls -A " + rig.state + "; echo $ADDED; env | grep -c SECRET; ls /proc/self/fd | wc -l",
        env={**os.environ, "SECRET": "x"})
    lines = done.stdout.split("\n")
    assert lines[:3] == ["nameserver 192.0.2.1", "search corp.example lab.example", "nobody"], done
    assert int(lines[3]) <= 5
    assert lines[4:8] == ["CapEff:\t0000000000000000", "CapBnd:\t0000000000000000", "NoNewPrivs:\t1", "Seccomp:\t2"]
    assert lines[8:11] == ["resolv.conf", "one two", "0"]
    assert int(lines[11]) == 4, "0, 1, 2 and the directory itself"


def test_the_callers_environment_is_not_in_the_sandbox(entered):
    """The init of the sandbox was made by the caller: it has all that the caller had in its memory."""
    done = entered("--user", "root", "--", "sh", "-c", "tr '\\0' '\\n' < /proc/1/environ; echo; env", env={**os.environ, "OPERATORS": "s3cret"})
    assert "s3cret" not in done.stdout
    assert "ermission denied" in done.stderr


def test_the_default_user_is_never_root(entered):
    script = ["--", "sh", "-c", "id -un; echo $HOME $SHELL; cat /etc/shadow >/dev/null 2>&1 && echo shadow; pwd"]
    plain = {k: v for k, v in os.environ.items() if k != "SUDO_USER"}
    for environment in (plain, {**plain, "SUDO_USER": "root"}, {**plain, "SUDO_USER": ""}):
        done = entered(*script, env=environment, cwd="/root")
        assert done.stdout.split() == ["nobody", "/", "/bin/sh", "/"], done
        assert "root" not in done.stderr
    assert entered(*script, env={**plain, "SUDO_USER": "sallyport"}).stdout.startswith("sallyport\n")
    done = entered("--user", "root", *script, env=plain)
    assert done.stdout.startswith("root\n") and "shadow" in done.stdout
    assert "the command runs as root: it can read and write root's files, credential sources among them" in done.stderr


def test_hidden_file_is_empty(entered, tmp_path):
    secret = tmp_path / "credentials.yaml"
    secret.write_text("the real value")
    share = ["--share", str(tmp_path)]
    seen = entered("--user", "root", *share, "--hide", str(secret), "--", "cat", str(secret))
    assert (seen.returncode, seen.stdout) == (0, ""), seen
    assert entered("--user", "root", *share, "--", "cat", str(secret)).stdout == "the real value", "the control"
    assert entered("--hide", str(tmp_path / "absent"), "--", "true").returncode == 0


@pytest.fixture
def outside():
    """A folder in each directory in which anybody may make one, with the socket of some agent in it."""
    with contextlib.ExitStack() as stack:
        made = []
        for parent in ("/tmp", "/var/tmp", "/dev/shm"):
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="sallyport-agent-", dir=parent))
            os.chmod(folder, 0o755)
            agent = stack.enter_context(socket.socket(socket.AF_UNIX))
            agent.bind(f"{folder}/agent.sock")
            os.chmod(f"{folder}/agent.sock", 0o777)
            agent.listen()
            made.append(folder)
        yield made


KNOCK = """
import socket, sys
for path in sys.argv[1:]:
    with socket.socket(socket.AF_UNIX) as s:
        try:
            s.connect(path)
            print("connected")
        except OSError as e:
            print(type(e).__name__)
"""


def knocked(entered, paths, *options, **more):
    done = entered(*options, "--", "/usr/bin/python3", "-c", KNOCK, *paths, **more)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_the_sandbox_has_a_tmp_of_its_own(entered, outside):
    """/tmp/ is an allowed prefix, and there are the sockets of agents: here is nobody's but the sandbox's."""
    sockets = [f"{folder}/agent.sock" for folder in outside]
    assert knocked(entered, sockets) == ["FileNotFoundError"] * 3
    shared = [word for folder in outside for word in ("--share", folder)]
    assert knocked(entered, sockets, *shared) == ["connected"] * 3, "the control"
    assert knocked(entered, sockets, "--share", sockets[0], "--share", "/var/tmp/") == ["connected"] * 2 + ["FileNotFoundError"]
    whole = ["--share", "/tmp", "--share", "/var/tmp", "--share", "/dev/shm", "--share", "/run/user"]
    assert knocked(entered, sockets, *whole) == ["connected"] * 3
    script = """for d in /tmp /var/tmp /dev/shm /run/user; do stat -c '%a %u' $d; ls -A $d; echo made >$d/made; done
    cat /tmp/made; find /tmp /var/tmp /dev/shm /run/user -type f; df --output=size /tmp /dev/shm | tail -n 2"""
    done = entered("--", "sh", "-c", script, cwd="/")
    lines = done.stdout.split("\n")
    assert lines[:8] == ["1777 0", "1777 0", "1777 0", "755 0", "made", "/tmp/made", "/var/tmp/made", "/dev/shm/made"], done
    memory = int(next(line for line in open("/proc/meminfo") if line.startswith("MemTotal")).split()[1])
    assert int(lines[8]) == int(lines[9]) <= memory / 2 + 8
    assert not os.path.exists("/tmp/made") and not os.path.exists("/dev/shm/made")


def test_the_current_directory_is_shared(entered, outside):
    folder = pathlib.Path(outside[0])
    (folder / "open").mkdir()
    (folder / "open" / "here").write_text("seen")
    (folder / "beside").write_text("not seen")
    script = "pwd; cat here; ls -A ..; ls -A /tmp; stat -c %a ..; echo back >made 2>/dev/null; true"
    os.chmod(folder / "open", 0o777)
    os.chmod(folder, 0o711)
    done = entered("--user", "nobody", "--", "sh", "-c", script, cwd=folder / "open")
    assert done.stdout.split("\n")[:1] == [f"{folder}/open"], done
    assert done.stdout.split("\n")[1] == f"seen{folder.name}", "what it lies in can be passed, not listed, as outside"
    assert (folder / "open" / "made").read_text() == "back\n"
    assert "agent.sock" not in entered("--user", "root", "--", "ls", "-A", "..", cwd=folder / "open").stdout
    os.chmod(folder, 0o700)
    done = entered("--user", "nobody", "--", "sh", "-c", "pwd; cat " + str(folder / "open" / "here"), cwd=folder / "open")
    assert done.stdout == "/\n" and "ermission denied" in done.stderr, "nobody reaches more than outside"


def test_who_starts_in_tmp_is_told_that_it_is_another(entered):
    done = entered("--", "sh", "-c", "pwd; ls -A", cwd="/tmp")
    assert done.stdout == "/tmp\n" and "the sandbox has a /tmp of its own, which is empty" in done.stderr
    missing = entered("--", "/tmp/nonexistent")
    assert missing.returncode == 127 and "the machine's is another: see --share" in missing.stderr
    assert "of its own" not in entered("--share", "/tmp", "--", "true", cwd="/tmp").stderr


@pytest.mark.parametrize("path, wanted", [("/home/x", "seen anyway"), ("/tmp/../home", "without .. parts"), ("tmp/x", "absolute path"),
    ("/tmp/nonexistent", "No such file or directory"), ("/tmpx", "seen anyway")])
def test_what_cannot_be_shared_is_said(entered, path, wanted):
    done = entered("--share", path, "--", "echo", "ran")
    assert done.returncode == 125 and f"--share: {path}: " in done.stderr and wanted in done.stderr and not done.stdout


def test_a_link_does_not_say_what_is_shared(entered, outside):
    """Who may write in a shared directory, an earlier sandbox say, would else share the machine's root below /tmp/."""
    folder = pathlib.Path(outside[0])
    (folder / "real" / "inner").mkdir(parents=True)
    for name, to in (("all", "/"), ("near", "real")):
        os.symlink(to, folder / name)
        for path in (f"{folder}/{name}", f"{folder}/{name}/", f"{folder}/{name}/inner"):
            done = entered("--user", "root", "--share", path, "--", "ls", path)
            assert done.returncode == 125 and "symbolic link" in done.stderr, (path, done)
    done = entered("--user", "root", "--share", f"{folder}/real", "--", "ls", f"{folder}/real")
    assert done.stdout == "inner\n", "the control"


def test_what_lies_in_a_share_is_there_with_it(entered, outside):
    folder = pathlib.Path(outside[0])
    (folder / "one" / "two").mkdir(parents=True)
    (folder / "one" / "two" / "here").write_text("seen")
    for shares in ((folder, folder / "one" / "two"), (folder / "one" / "two", folder)):
        words = [word for share in shares for word in ("--share", str(share))]
        done = entered("--user", "root", *words, "--", "cat", f"{folder}/one/two/here")
        assert done.stdout == "seen", done


def test_a_state_directory_in_tmp(tmp_path):
    made = helper_rig.Rig(parent="/tmp")
    try:
        made.daemon()
        made.attach()
        done = made.ctl("enter", "--id", "a", "--", "sh", "-c", f"cat /etc/resolv.conf; ls -A {made.state} {made.parent}")
        assert done.stdout.split("\n")[0] == "nameserver 192.0.2.1" and "helper.sock" not in done.stdout, done
        done = made.ctl("enter", "--id", "a", "--share", "/tmp", "--", "ls", "-A", made.state)
        assert done.stdout == "resolv.conf\n", done
    finally:
        _, left = made.close()
    assert not left


def test_kernel_settings_are_not_for_roots_in_the_sandbox(entered):
    """uid 0 without capabilities owns /proc/sys all the same: arp_ignore=0 would let an uplink answer for its segment."""
    paths = ["/proc/sys/net/ipv4/conf/all/arp_ignore", "/proc/sys/net/ipv4/ip_forward", "/proc/sys/kernel/core_pattern"]
    script = 'for f; do read -r was <$f; (echo "$was" >$f) 2>&1; done; mount -o remount,bind,rw /proc/sys; umount /proc/sys'
    done = entered("--user", "root", "--", "sh", "-c", script, "sh", *paths)
    assert done.stdout.count("Read-only file system") == 3, done
    assert done.returncode != 0 and "denied" in done.stderr


def test_value_of_the_callers_variable(entered):
    done = entered("--env", "TOKEN", "--env", "ABSENT", "--", "sh", "-c", "echo $TOKEN ${ABSENT-unset}",
        env={**os.environ, "TOKEN": "by name"})
    assert done.stdout == "by name unset\n"


CERTIFICATE = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n"
SHOWN = """echo "$API_TOKEN|$NODE_EXTRA_CA_CERTS|$GRPC_DEFAULT_SSL_ROOTS_FILE_PATH|$PATH"
cat "$NODE_EXTRA_CA_CERTS"; echo; tail -n 3 /etc/ssl/certs/ca-certificates.crt
cmp /etc/ssl/certs/ca-certificates.crt "$GRPC_DEFAULT_SSL_ROOTS_FILE_PATH" && wc -c </etc/ssl/certs/ca-certificates.crt"""


@pytest.fixture
def handout(rig, entered):
    """The folder that a daemon, a user of its own, hands out for the sandbox a."""
    made = os.path.join(rig.state, "handout", "a")
    os.makedirs(made)
    for name_, text in (("ca.pem", CERTIFICATE), ("environment", "API_TOKEN=spx_0aB\nOTHER=spx_1\n")):
        with open(os.path.join(made, name_), "w") as file:
            file.write(text)
    for path in (os.path.dirname(made), made, *(os.path.join(made, n) for n in os.listdir(made))):
        os.chown(path, 999, 999)
    yield made
    subprocess.run(["rm", "-rf", os.path.dirname(made)], check=True)


def test_handout_is_used_by_default(handout, entered, rig):
    done = entered("--", "sh", "-c", SHOWN)
    lines = done.stdout.split("\n")
    token, ca, bundle, path = lines[0].split("|")
    assert (token, ca, bundle) == ("spx_0aB", f"{rig.state}/ca.pem", f"{rig.state}/bundle.pem"), done
    assert "/usr/bin" in path and not done.stderr
    assert "\n".join(lines[1:4]) + "\n" == CERTIFICATE and "\n".join(lines[5:8]) + "\n" == CERTIFICATE
    assert int(lines[8]) == os.path.getsize("/etc/ssl/certs/ca-certificates.crt") + 1 + len(CERTIFICATE)
    assert sorted(os.listdir(handout)) == ["ca.pem", "environment"], "nothing is made outside"


def test_caller_and_trust_directory_come_before_the_handout(handout, entered, rig, tmp_path):
    (tmp_path / "bundle.pem").write_text("mine")
    tmp_path.chmod(0o755)
    done = entered("--trust", str(tmp_path), "--env", "API_TOKEN=mine", "--env", "OTHER", "--", "sh", "-c",
        "echo $API_TOKEN $OTHER $NODE_EXTRA_CA_CERTS $GRPC_DEFAULT_SSL_ROOTS_FILE_PATH; cat /etc/ssl/certs/ca-certificates.crt",
        env={**os.environ, "OTHER": "caller's"})
    assert done.stdout == f"mine caller's {rig.state}/ca.pem {rig.state}/trust/bundle.pem\nmine", done


def test_no_handout_is_a_note(entered):
    done = entered("--", "sh", "-c", "echo ${NODE_EXTRA_CA_CERTS-none}")
    assert (done.returncode, done.stdout) == (0, "none\n") and "handout/a: No such file" in done.stderr


HOSTILE = {
    "link to a file": (lambda d: _replace(d, "ca.pem", lambda p: os.symlink("/etc/ssl/certs/ca-certificates.crt", p)), "symbolic link"),
    "link to shadow": (lambda d: _replace(d, "environment", lambda p: os.symlink("/etc/shadow", p)), "symbolic link"),
    "folder is a link": (lambda d: (os.rename(d, d + "2"), os.symlink(d + "2", d)), "handout/a"),
    "second name": (lambda d: os.link(f"{d}/ca.pem", f"{d}/copy"), "not a plain file"),
    "root's file": (lambda d: os.chown(f"{d}/environment", 0, 0), "not a plain file"),
    "fifo": (lambda d: _replace(d, "environment", os.mkfifo), "not a plain file"),
    "folder for a file": (lambda d: _replace(d, "ca.pem", os.mkdir), "not a plain file"),
    "no certificate": (lambda d: _write(d, "ca.pem", "root:x:0:0:\n"), "not a certificate"),
    "bytes in it": (lambda d: _write(d, "ca.pem", CERTIFICATE[:-1] + "\0\n" + CERTIFICATE), "not a certificate"),
    "long": (lambda d: _write(d, "environment", "A=b\n" * 20000), "too long"),
    **{f"line {bad!r}": (lambda d, bad=bad: _write(d, "environment", "GOOD=x\n" + bad), "environment:2: is not NAME=word") for bad in (
        "A=b", "A\n", "=b\n", "A=\n", "\n", "1A=b\n", "A-B=c\n", "A=b c\n", "A=/etc\n", "A=b\r\n", "A=b\0\n", "A=b=c\n", " A=b\n")},
    "many": (lambda d: _write(d, "environment", "A=b\n" * 257), "environment:257"),
}


def _replace(folder, name_, make):
    path = os.path.join(folder, name_)
    os.unlink(path)
    make(path)
    os.chown(path, 999, 999, follow_symlinks=False)


def _write(folder, name_, text):
    with open(os.path.join(folder, name_), "w") as file:
        file.write(text)


@pytest.mark.parametrize("what", HOSTILE)
def test_hostile_handout_is_refused(handout, entered, what):
    """The daemon's user may be taken over: root neither reads other files for it nor waits for it."""
    spoil, wanted = HOSTILE[what]
    spoil(handout)
    done = entered("--", "sh", "-c", "env; tail -n 1 /etc/ssl/certs/ca-certificates.crt")
    assert done.returncode == 125 and wanted in done.stderr and not done.stdout, done
    assert "root:" not in done.stderr


JAIL = """
import ctypes, errno, os, socket
libc = ctypes.CDLL(None, use_errno=True)
def call(*words):
    ctypes.set_errno(0)
    return 'ok' if libc.syscall(*[ctypes.c_long(w) for w in words]) >= 0 else errno.errorcode[ctypes.get_errno()]
def family(*words):
    try:
        socket.socket(*words).close()
        return 'ok'
    except OSError as e:
        return errno.errorcode[e.errno]
print(family(socket.AF_INET), family(socket.AF_INET6), family(socket.AF_UNIX), family(socket.AF_NETLINK, socket.SOCK_RAW, 0))
print(family(40, 1), family(17, 3), family(socket.AF_NETLINK, socket.SOCK_RAW, 16), family(38, 5), call(41, 2 | 1 << 32, 1, 0))
print(call(272, 0x10000000), call(272, 0x40000000), call(321, 0, 0, 0), call(438, 0, 0, 0), call(308, 0, 0))
print(call(56, 0x10000000 | 17, 0, 0, 0, 0), call(435, 0, 0))
"""


def test_jail(entered):
    done = entered("--", "/usr/bin/python3", "-c", JAIL)
    allowed, families, calls, clones = done.stdout.splitlines()
    assert allowed.split() == ["ok"] * 4
    assert families.split() == ["EAFNOSUPPORT"] * 5
    assert calls.split() == ["EPERM"] * 5
    assert clones.split() == ["EPERM", "ENOSYS"]
    # the control: without the jail the kernel answers these otherwise
    free = subprocess.run(["/usr/bin/python3", "-c", JAIL.replace("call(56, 0x10000000 | 17, 0, 0, 0, 0), ", "'', ")],
        text=True, capture_output=True, check=True).stdout.splitlines()
    assert free[1].split() != ["EAFNOSUPPORT"] * 5 and free[2] != calls


@pytest.mark.parametrize("command", [
    ["/usr/bin/python3", "-c", "import subprocess, threading; threading.Thread(target=print).start();"
        "subprocess.run(['true'], check=True)"],
    ["/usr/bin/node", "-e", "require('fs').promises.readFile('/etc/hostname').then(() => process.exit(0))"],
    ["git", "--version"],
    ["bash", "-c", "diff <(echo a) <(echo a)"],
], ids=lambda c: os.path.basename(c[0]))
def test_ordinary_programs_run(entered, command):
    done = entered("--user", "nobody", "--", *command)
    assert done.returncode == 0, done.stderr


def test_waiter_killed_ends_the_command(entered, rig):
    waiter = subprocess.Popen([NETNS, "--state", rig.state, "enter", "--id", "a", "--", "sleep", "600"])
    procs = os.path.join(rig.cgroups[0], "cgroup.procs")
    until("entered", lambda: len(open(procs).read().split()) == 2)
    helper_rig.kill(waiter)
    until("ended", lambda: open(procs).read() == "")


def test_term_is_passed_on(entered, rig):
    waiter = subprocess.Popen([NETNS, "--state", rig.state, "enter", "--id", "a", "--", "sh", "-c",
        "trap 'exit 3' TERM; echo ready; while :; do sleep 0.1; done"], text=True, stdout=subprocess.PIPE)
    assert waiter.stdout.readline() == "ready\n"
    assert helper_rig.kill(waiter, signal.SIGTERM) == 3
