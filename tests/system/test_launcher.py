# SPDX-License-Identifier: Apache-2.0
"""`sallyport run`: a command in a sandbox, with nothing else running before or after."""
import json
import os
import signal
import socket
import subprocess
import tempfile
import time

import pytest

import documents
import launcher
from documents import API_SECRET
from stack import build_folder
from waiting import PATIENCE, until


@pytest.fixture(scope="module")
def papers(world):
    """Options with a policy that trusts the tests' authority, and credentials."""
    document = world.write(
        "run.credentials.yaml",
        f'credentials:\n  - name: API_TOKEN\n    source: {{value: "{API_SECRET}"}}\n    env: API_TOKEN\n'
        "    swap:\n      - {hosts: [api.test], in: [bearer]}\n",
        0o600,
    )
    policy = world.write(
        "run.policy.yaml",
        f'version: 1\nname: run\ndefault: deny\nupstream:\n  - {{hosts: ["*"], ca: {world.pki.ca}}}\n'
        "rules:\n  - {name: a, hosts: [api.test, v6only.test], action: allow}\n",
    )
    return ["--policy", policy, "--credentials", documents.readable_by_daemon(document)]


@pytest.fixture
def clean():
    """Whatever the launcher made is gone when the test ends."""
    before = launcher.traces()
    yield
    after = launcher.traces() - before
    until(lambda: not after & launcher.traces(), f"the removal of {after}", 20)


def test_run_runs_the_main_job(world, papers, clean, origin):
    script = 'curl -sS -H "Authorization: Bearer $API_TOKEN" https://api.test/run; echo; echo "held: $API_TOKEN"'
    done = launcher.run(world, "run", *papers, "--", "sh", "-c", script)
    assert done.returncode == 0, done.stderr
    assert "hello from api.test" in done.stdout and "held: spx_" in done.stdout
    assert API_SECRET not in done.stdout + done.stderr
    assert origin.last("/run").value("authorization") == f"Bearer {API_SECRET}"


@pytest.mark.parametrize("script,status", [("exit 0", 0), ("exit 7", 7), ("exit 255", 255), ("kill -TERM $$", 143), ("kill -KILL $$", 137)])
def test_the_exit_status_is_the_commands(world, papers, clean, script, status):
    assert launcher.run(world, "run", *papers, "--", "sh", "-c", script).returncode == status


def test_a_command_that_does_not_exist(world, papers, clean):
    done = launcher.run(world, "run", *papers, "--", "/nonexistent/command")
    assert done.returncode in (126, 127) and "/nonexistent/command" in done.stderr


def test_standard_streams_are_the_commands(world, papers, clean):
    done = subprocess.run(
        launcher.command(world, "run", *papers, "--", "sh", "-c", "cat; echo problem >&2"), input="through\n",
        capture_output=True, text=True, timeout=60, env=launcher.environment(), check=False,
    )
    assert done.stdout == "through\n" and "problem" in done.stderr


def test_what_the_command_finds_around_it(world, papers, clean):
    script = """
id -u; grep -c . /etc/resolv.conf; ip -o link | wc -l; cat /proc/self/cgroup
grep -E '^(CapEff|NoNewPrivs|Seccomp):' /proc/self/status
echo "NODE=$NODE_EXTRA_CA_CERTS"; test -r "$NODE_EXTRA_CA_CERTS" && echo readable
ls /run/sallyport* 2>/dev/null
"""
    done = launcher.run(world, "run", *papers, "--env", "MINE=yes", "--", "sh", "-c", script + 'echo "MINE=$MINE"')
    assert done.returncode == 0, done.stderr
    assert "NoNewPrivs:\t1" in done.stdout and "Seccomp:\t2" in done.stdout
    assert "readable" in done.stdout and "MINE=yes" in done.stdout
    assert "control.sock" not in done.stdout and "helper.sock" not in done.stdout
    lines = done.stdout.splitlines()
    assert lines[2] == "1", "one link, lo"


def test_nobody_by_default_and_root_only_when_written_out(world, papers, clean):
    script = "id -un; cat /etc/shadow >/dev/null 2>&1 && echo shadow; wc -c <" + papers[3]
    done = launcher.run(world, "run", *papers, "--", "sh", "-c", script)
    assert done.stdout.split()[0] == "nobody" and "shadow" not in done.stdout, done.stderr
    assert "the command runs as root" not in done.stderr
    done = launcher.run(world, "run", *papers, "--share", world.run, "--user", "root", "--", "sh", "-c", script)
    assert done.stdout.split() == ["root", "shadow", "0"], "and the credentials document is covered: " + done.stderr
    assert done.stderr.count("the command runs as root: it can read and write root's files") == 1


def test_values_of_variables_are_not_in_arguments(world, papers, clean):
    script = "echo $MINE; tr '\\0' ' ' </proc/1/cmdline"
    done = subprocess.run(
        launcher.command(world, "run", *papers, "--env", "MINE", "--", "sh", "-c", script), capture_output=True, text=True,
        timeout=60, env={**launcher.environment(), "MINE": "by-name"}, stdin=subprocess.DEVNULL, check=False,
    )
    value, line = done.stdout.split("\n")[:2]
    assert value == "by-name" and "--env=MINE" in line, done.stderr
    assert "by-name" not in line and "spx_" not in line


def test_user(world, papers, clean):
    done = launcher.run(world, "run", *papers, "--user", "nobody", "--", "sh", "-c", "id -un; curl -sS https://api.test/")
    assert done.stdout.splitlines()[0] == "nobody" and "hello from api.test" in done.stdout, done.stderr


@pytest.mark.parametrize("clients", ["curl", "wget", "python", "node", "git"])
def test_trust_is_in_place_for_real_clients(world, papers, clean, clients):
    script = {
        "curl": "curl -sS https://api.test/",
        "wget": "wget -qO- https://api.test/",
        "python": "/usr/bin/python3 -c \"import urllib.request as u; print(u.urlopen('https://api.test/').read().decode())\"",
        "node": "node -e \"fetch('https://api.test/').then(async r => console.log(await r.text()))\"",
        "git": "git ls-remote https://x:y@api.test/r.git && echo hello from api.test",
    }[clients]
    done = launcher.run(world, "run", *papers, "--", "sh", "-c", script)
    assert "hello from api.test" in done.stdout, done.stderr


def test_the_default_policy_allows_public_addresses_and_nothing_else(world, clean, watch):
    script = (
        "curl -sS http://203.0.113.10/; curl -sS http://api.test/; curl -sS http://169.254.169.254/ || echo refused $?;"
        "curl -sS http://10.0.0.1/ || echo refused $?"
    )
    done = launcher.run(world, "run", "--", "sh", "-c", script)
    assert done.stdout.count("hello from") == 2, done.stdout + done.stderr
    assert done.stdout.count("refused 7") == 2
    assert not watch.packets_to("169.254.169.254", "10.0.0.1")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_to_the_group_ends_everything(world, papers, clean, number):
    process = launcher.start(world, "run", *papers, "--", "sh", "-c", "echo ready; exec sleep 1000")
    assert process.stdout.readline() == "ready\n", process.stderr.read()
    launcher.interrupt_group(process, number)
    process.wait(20)
    assert process.returncode != 0
    until(lambda: not _sleepers(process.pid), "the command to end")


def test_killing_the_launcher_kills_the_sandbox(world, papers, clean):
    process = launcher.start(world, "run", *papers, "--", "sh", "-c", "trap '' HUP INT TERM; echo ready; sleep 1000 & wait; sleep 1000")
    assert process.stdout.readline() == "ready\n", process.stderr.read()
    os.kill(process.pid, signal.SIGKILL)
    process.wait(20)
    process.stdout.close()
    until(lambda: not _sleepers(process.pid), "the command to end", 20)


def _sleepers(session):
    """Processes of the launcher's session that still run the command."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                line = file.read().split(b"\0")
            if line[:2] == [b"sleep", b"1000"] and os.getsid(int(pid)) == session:
                found.append(pid)
        except OSError:
            continue
    return found


@pytest.mark.parametrize("what", ["policy", "credentials", "missing policy", "audit", "unknown option", "no command", "name", "no value", "variable"])
def test_bad_papers_are_refused_before_the_command_runs(world, papers, clean, what):
    options, wanted = {
        "policy": (["--policy", world.write("bad.policy.yaml", "version: 1\nname: x\ndefalt: deny\n")], "bad.policy.yaml:3:1"),
        "credentials": ([*papers[:2], "--credentials", documents.readable_by_daemon(world.write("bad.credentials.yaml", "credentials:\n  - nam: x\n"))], "bad.credentials.yaml:2:"),
        "missing policy": (["--policy", "/nonexistent.yaml"], "--policy: /nonexistent.yaml cannot be read: No such file"),
        "audit": (["--audit", "/nonexistent/a"], "--audit: /nonexistent/a cannot be made: there is no directory /nonexistent"),
        "unknown option": (["--nonsense"], "--nonsense"),
        "no command": ([], "command"),
        "name": (["--name", "Box"], "--name: Box"),
        "no value": (["--policy"], "--policy wants a value"),
        "variable": (["--env", "NOT_THERE"], "--env: NOT_THERE is not set"),
    }[what]
    command = [] if what in ("no command", "no value") else ["--", "sh", "-c", "echo IT RAN"]
    start = time.monotonic()
    done = launcher.run(world, "run", *options, *command)
    assert done.returncode == (125 if what in ("policy", "credentials", "missing policy", "audit") else 64), done.stderr
    assert wanted in done.stderr and "<3>" not in done.stderr, done.stderr
    assert "IT RAN" not in done.stdout
    assert time.monotonic() - start < 10


KNOCK = """
import errno, os, socket, sys, tempfile
def knock(path):
    with socket.socket(socket.AF_UNIX) as s:
        return errno.errorcode.get(s.connect_ex(path), "connected")
print(*map(knock, sys.argv[1:]))
for folder in ("/tmp", os.getcwd()):
    with tempfile.TemporaryDirectory(dir=folder) as own, socket.socket(socket.AF_UNIX) as server:
        server.bind(own + "/s")
        server.listen()
        print("own", knock(own + "/s"))
"""


def test_sockets_of_the_users_other_programs_are_out_of_reach(world, papers, clean):
    """Those of an agent in the machine's /tmp are not there; those in its /home are refused; what --unix names is reached."""
    with tempfile.TemporaryDirectory(dir="/tmp") as temporary, tempfile.TemporaryDirectory(dir="/home") as home:
        agents, paths = [], [f"{folder}/agent.sock" for folder in (temporary, home)]
        for folder, path in zip((temporary, home), paths):
            os.chmod(folder, 0o777)
            agents.append(socket.socket(socket.AF_UNIX))
            agents[-1].bind(path)
            os.chmod(path, 0o777)
            agents[-1].listen()
        knock = ["--", "/usr/bin/python3", "-c", KNOCK, *paths]
        done = launcher.run(world, "run", *papers, *knock, cwd=home)
        assert done.stdout.splitlines()[0] == "ENOENT EACCES", done.stderr
        assert done.stdout.splitlines()[1:] == ["own connected", "own EACCES"]
        done = launcher.run(world, "run", *papers, "--unix", paths[0], "--unix", f"{home}/", *knock, cwd=home)
        assert done.stdout.splitlines() == ["connected connected", "own EACCES", "own connected"], done.stderr
        done = launcher.run(world, "run", *papers, "--share", temporary, *knock, cwd=home)
        assert done.stdout.splitlines()[0] == "connected EACCES", done.stderr
        for agent in agents:
            agent.close()


def test_two_runs_at_once(world, papers, clean):
    processes = [
        launcher.start(world, "run", *papers, "--", "sh", "-c", "curl -sS https://api.test/; echo done") for _ in range(2)
    ]
    for process in processes:
        out, err = process.communicate(timeout=60)
        assert "hello from api.test" in out and "done" in out, err


def test_up_and_down(world, clean):
    state = os.path.join(world.run, "up")
    config = world.write("up.yaml", f"state: {state}\nresolvers: [203.0.113.53]\nca: {world.pki.ca}\n")
    done = launcher.run(world, "up", "--state", state, "--config", config)
    try:
        assert done.returncode == 0, done.stderr
        for name in ("helper.sock", "control.sock"):
            assert os.path.exists(os.path.join(state, name)), name
        with open(os.path.join(state, "daemon.cgroup"), encoding="ascii") as file:
            cgroup = file.read().strip()
        with open(os.path.join(cgroup, "cgroup.procs"), encoding="ascii") as file:
            assert len(file.read().split()) == 1, "the daemon alone"
        status = subprocess.run([os.path.join(build_folder(), "sallyportctl"), "--state", state, "status"],
                                capture_output=True, text=True, check=True)
        assert "dialler" not in status.stdout, status.stdout
        programs = subprocess.run(["bpftool", "cgroup", "show", cgroup], capture_output=True, text=True, check=True)
        assert "dialler_connect4" in programs.stdout
    finally:
        done = launcher.run(world, "down", "--state", state)
    assert done.returncode == 0, done.stderr
    assert not os.path.exists(os.path.join(state, "helper.sock")) and not os.path.exists(cgroup)
    with open("/proc/self/mounts", encoding="utf-8") as mounts:
        assert state not in mounts.read()


class Up:
    """`up` in a state directory of its own, and a sandbox in it."""

    def __init__(self, world):
        self.world = world
        self.state = os.path.join(world.run, "again")
        self.config = world.write("again.yaml", f"state: {self.state}\nresolvers: [203.0.113.53]\nca: {world.pki.ca}\n")
        self.cgroup = os.path.join(world.cgroup, "again")
        os.mkdir(self.cgroup)

    def up(self, *options):
        return launcher.run(self.world, "up", "--state", self.state, *options)

    def down(self):
        return launcher.run(self.world, "down", "--state", self.state)

    def tool(self, name, *words):
        return subprocess.run([os.path.join(build_folder(), name), "--state", self.state, *words],
                              capture_output=True, text=True, timeout=60 * PATIENCE, check=False)

    def pid(self, name):
        with open(os.path.join(self.state, f"{name}.pid"), encoding="ascii") as file:
            return int(file.read())

    def kill(self, name):
        pid = self.pid(name)
        os.kill(pid, signal.SIGKILL)
        until(lambda: not alive(pid), f"the end of the {name}")
        return pid

    def attach(self):
        done = self.tool("sallyport-netns", "attach", "--id", "box", "--netns", "new", "--cgroup", self.cgroup)
        assert done.returncode == 0, done.stderr

    def fetch(self, seconds=10):
        return self.tool("sallyport-netns", "enter", "--id", "box", "--", "curl", "-sS", "-m", str(seconds), "http://api.test/")

    def serving(self):
        """The pid of the daemon that answers."""
        done = self.tool("sallyportctl", "--json", "status")
        return json.loads(done.stdout)["pid"] if done.returncode == 0 else None


def alive(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as file:
            return file.read().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


@pytest.fixture
def again(world, clean):
    made = Up(world)
    pids = set()
    try:
        done = made.up("--config", made.config)
        assert done.returncode == 0, done.stderr
        pids |= {made.pid("helper"), made.pid("daemon")}
        yield made
    finally:
        for name in ("helper", "daemon"):
            if os.path.exists(os.path.join(made.state, f"{name}.pid")):
                pids.add(made.pid(name))
        done = made.down()
        left = [pid for pid in pids if alive(pid)]
        for pid in left:
            os.kill(pid, signal.SIGKILL)
        until(lambda: not any(map(alive, left)), "their end")
        os.rmdir(made.cgroup)
    assert done.returncode == 0 and not left, done.stderr
    with open("/proc/self/mounts", encoding="utf-8") as mounts:
        assert made.state not in mounts.read()


def test_up_when_the_helper_alone_has_died(again):
    """The daemon that is left is ended, and both are new."""
    again.attach()
    old = again.pid("daemon")
    again.kill("helper")
    assert again.serving() == old
    done = again.up("--config", again.config)
    assert done.returncode == 0, done.stderr
    assert not alive(old) and again.serving() == again.pid("daemon") != old
    assert alive(again.pid("helper"))
    again.attach()
    assert "hello from api.test" in again.fetch().stdout


def test_up_when_the_daemon_alone_has_died(again):
    """It alone is started, as it was configured, and the sandboxes go on."""
    again.attach()
    assert "hello from api.test" in again.fetch().stdout
    helper, old = again.pid("helper"), again.kill("daemon")
    assert again.fetch(1).returncode != 0
    done = again.up()
    assert done.returncode == 0, done.stderr
    assert again.pid("helper") == helper and again.serving() == again.pid("daemon") != old
    until(lambda: "hello from api.test" in again.fetch().stdout, "traffic, by the resolver of the configuration")
    with open(os.path.join(again.state, "daemon.cgroup"), encoding="ascii") as file:
        cgroup = file.read().strip()
    programs = subprocess.run(["bpftool", "cgroup", "show", cgroup], capture_output=True, text=True, check=True)
    assert "dialler_connect4" in programs.stdout
    done = again.up()
    assert done.returncode == 125 and "is up already" in done.stderr


def test_upgrade_lets_another_daemon_take_over(again):
    again.attach()
    assert again.fetch().returncode == 0
    old = again.pid("daemon")
    done = launcher.run(again.world, "upgrade", "--state", again.state)
    assert done.returncode == 0, done.stderr
    new = again.pid("daemon")
    assert new != old and again.serving() == new and not alive(old)
    assert again.fetch().returncode == 0, "without a new attach"
    with open(os.path.join(again.state, "daemon.cgroup"), encoding="ascii") as file:
        cgroup = file.read().strip()
    with open(os.path.join(cgroup, "cgroup.procs"), encoding="ascii") as file:
        assert file.read().split() == [str(new)], "alone in a cgroup of its own"
    programs = subprocess.run(["bpftool", "cgroup", "show", cgroup], capture_output=True, text=True, check=True)
    assert "dialler_connect4" in programs.stdout, "and guarded"


def test_an_upgrade_does_not_wait_for_ever_for_the_old_daemon(again):
    """That one is stopped behind the take-over, with a request under way."""
    config = again.world.write("again-brisk.yaml", open(again.config, encoding="utf-8").read() + "drain: 1\n")
    again.attach()
    assert launcher.run(again.world, "upgrade", "--state", again.state, "--config", config).returncode == 0
    old = again.pid("daemon")
    slow = subprocess.Popen([os.path.join(build_folder(), "sallyport-netns"), "--state", again.state, "enter", "--id", "box", "--",
                             "curl", "-sS", "http://api.test/delay/60000"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    until(lambda: json.loads(again.tool("sallyportctl", "--json", "sandboxes").stdout)["sandboxes"][0]["counters"]["open"],
          "the slow request")
    # what counts is what the daemon was started with, not what its file says now
    again.world.write("again-brisk.yaml", open(again.config, encoding="utf-8").read() + "drain: 3600\n")
    begin = time.monotonic()
    upgrade = launcher.start(again.world, "upgrade", "--state", again.state)
    until(lambda: again.pid("daemon") != old, "the other daemon to serve", 20)
    os.kill(old, signal.SIGSTOP)
    assert again.fetch().returncode == 0, "the new one is not hindered"
    _, told = upgrade.communicate(timeout=60 * PATIENCE)
    slow.wait(10 * PATIENCE)
    assert upgrade.returncode == 125 and time.monotonic() - begin < 40 * PATIENCE
    assert f"the daemon of pid {old} has not ended in its 1 seconds" in told and f"pid {old} was killed" in told, told
    assert not alive(old) and again.serving() == again.pid("daemon") and again.fetch().returncode == 0


def test_an_upgrade_that_fails_says_why_and_leaves_all_as_it_was(again):
    again.attach()
    old = again.pid("daemon")
    bad = again.world.write("again-bad.yaml", f"state: {again.state}\nca: /nonexistent\n")
    done = launcher.run(again.world, "upgrade", "--state", again.state, "--config", bad)
    assert done.returncode == 125 and "/nonexistent" in done.stderr, done.stderr
    assert again.pid("daemon") == old and again.serving() == old and again.fetch().returncode == 0


def test_upgrade_where_nothing_is_up(world, clean):
    done = launcher.run(world, "upgrade", "--state", os.path.join(world.run, "none"))
    assert done.returncode == 125 and "up" in done.stderr


def test_down_when_the_helper_alone_has_died(again):
    daemon = again.pid("daemon")
    again.kill("helper")
    done = again.down()
    assert done.returncode == 0 and done.stdout == "sallyport: down\n", done.stderr
    assert not alive(daemon)
    done = again.down()
    assert done.returncode == 0 and done.stdout == f"sallyport: nothing was up in {again.state}\n", done.stderr
    # and a helper that comes after it removes what the dead one had made
    assert again.up("--config", again.config).returncode == 0


@pytest.mark.parametrize("helper", ["alive", "dead"])
def test_what_serves_and_is_none_of_ups_is_named_and_left_alone(again, helper):
    file = os.path.join(again.state, "daemon.pid")
    daemon = again.pid("daemon")
    os.rename(file, file + ".away")
    if helper == "dead":
        again.kill("helper")
    for command in ("up", "down"):
        done = getattr(again, command)()
        assert done.returncode == 125 and f"(pid {daemon}) serves {again.state}: end it first" in done.stderr, done.stderr
        assert again.serving() == daemon
    os.kill(daemon, signal.SIGTERM)
    until(lambda: not alive(daemon), "its end")
    assert again.up("--config", again.config).returncode == 0


@pytest.mark.parametrize("said", ["other", None])
def test_up_in_another_place_than_the_configuration_says(world, clean, said):
    state, other = os.path.join(world.run, "here"), os.path.join(world.run, "other")
    config = world.write("elsewhere.yaml", f"state: {other}\n" if said else "workers: 1\n")
    start = time.monotonic()
    done = launcher.run(world, "up", "--state", state, "--config", config)
    assert done.returncode == 125 and time.monotonic() - start < 5
    assert f"the configuration says state {other if said else '/run/sallyport'}, --state says {state}" in done.stderr
    assert not os.path.exists(state) and not os.path.exists(other)


def test_up_with_a_bad_configuration_says_why_at_once(world, clean):
    config = world.write("bad.yaml", "stat: /run/x\n")
    done = launcher.run(world, "up", "--state", os.path.join(world.run, "here"), "--config", config)
    assert done.returncode == 125 and "bad.yaml:1:1" in done.stderr and "<3>" not in done.stderr


def test_enter_needs_no_more_than_the_id(world, clean, stack, attach):
    """What the launcher's command finds, another's does too."""
    box = attach(prefix="swap")
    script = "id -un; curl -sS https://api.test/enter; echo; node -e \"fetch('https://api.test/').then(async r => console.log(await r.text()))\"; env"
    done = stack.netns("enter", "--id", box.id, "--", "sh", "-c", script)
    assert done.returncode == 0 and done.stdout.startswith("nobody\n"), done.stderr
    assert done.stdout.count("hello from api.test") == 2, done.stderr
    for variable, placeholder in box.handed().items():
        assert f"{variable}={placeholder}" in done.stdout
