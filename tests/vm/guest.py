# SPDX-License-Identifier: Apache-2.0
"""guest.py [STEP[=EXPRESSION]]... - runs inside the machine that scripts/vm boots, as its first process.

A step is a row of STEPS: a command of the tree with a limit in seconds. What it prints goes to the console and to
/results/STEP.log, its exit status into the line that ends it. EXPRESSION is pytest's -k;
of `probe` it is the name of the one that is run, with -v; of `combinations`, those of the battery,
with commas between. The last line is the summary; /results/status holds
the exit status of the whole. The machine is emulated: everything is some ten times slower than on the host, and
tests that measure time are not for here.
"""
import os
import signal
import subprocess
import sys
import threading
import time
import traceback

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
BUILD = os.environ["SALLYPORT_BUILD"]
RESULTS = "/results"
WITHOUT_BPF = "tests/system/without_bpf.py"
PYTEST = ["/usr/bin/python3", "-m", "pytest", "-p", "no:cacheprovider", "-ra", "--tb=short", "-v"]

# name: (what it shows, seconds, command)
STEPS = {
    "doctor": ("what this kernel offers", 600, [f"{BUILD}/sallyportctl", "doctor"]),
    "bpf": ("the kernel programs meet their tables", 1800, [*PYTEST, "tests/bpf"]),
    "try": ("the main job", 1200, ["scripts/try", BUILD]),
    "bpfless": ("the main job where bpf(2) is refused: the nft lane", 1200, [WITHOUT_BPF, "scripts/try", BUILD]),
    "lacking": ("what this kernel has no hook for is told", 1800, [*PYTEST, "tests/system/test_lacking.py"]),
    "battery": ("nothing gets out", 5400, [*PYTEST, "tests/battery"]),
    "combinations": ("nothing gets out, in combinations that are named", 10800, ["/usr/bin/python3", "tests/battery/run.py"]),
    "probe": ("one probe of the kernel, in full", 120, [f"{BUILD}/probes/"]),
    "system": ("the system tests (slow; not run unless named)", 10800, [*PYTEST, "tests/system"]),
}
FAMILIES = 46  # AF_MAX of Linux 6.1
USUAL = ("doctor", "bpf", "try", "bpfless", "lacking", "battery")


def say(text):
    print(f"vm: {text}", flush=True)


def reap_orphans():
    """The first process inherits what others leave behind."""
    while True:
        try:
            info = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOWAIT | os.WNOHANG)
        except ChildProcessError:
            return
        if info is None or info.si_pid == reap_orphans.ours:
            return
        os.waitpid(info.si_pid, os.WNOHANG)


reap_orphans.ours = 0


def copy(stream, log):
    """Until the last writer has gone: to the console and into the file."""
    for line in iter(stream.readline, b""):
        log.write(line)
        log.flush()
        sys.stdout.buffer.write(line)
        sys.stdout.flush()


def end(process):
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def wait(process, seconds):
    """Its exit status; None when it did not end in time and was killed."""
    deadline = time.monotonic() + seconds
    while process.poll() is None:
        reap_orphans()
        if time.monotonic() > deadline:
            end(process)
            process.wait()
            return None
        time.sleep(0.2)
    return process.returncode


def run(name, seconds, argv):
    environment = {
        "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "TERM": "dumb",
        "LANG": "C.UTF-8", "PYTHONDONTWRITEBYTECODE": "1", "SALLYPORT_BUILD": BUILD,
        "SALLYPORT_PATIENCE": "12", "SALLYPORT_RESULTS": RESULTS,
    }
    with open(os.path.join(RESULTS, f"{name}.log"), "wb") as log:
        with subprocess.Popen(
            argv, cwd=ROOT, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, start_new_session=True,
        ) as process:
            reap_orphans.ours = process.pid
            copier = threading.Thread(target=copy, args=(process.stdout, log), daemon=True)
            copier.start()
            status = wait(process, seconds)
            end(process)
            copier.join(10)
    return status


def step(name):
    """True when it did what it shall."""
    name, _, expression = name.partition("=")
    title, seconds, argv = STEPS[name]
    if name == "probe":
        argv = [argv[0] + expression, "-v"]
    elif name == "combinations":
        argv = [*argv, *expression.split(",")]
    elif expression:
        argv = [*argv, "-k", expression]
    say(f"== {name}: {title}")
    began = time.monotonic()
    status = run(name, seconds, argv)
    took = time.monotonic() - began
    said = "passed" if status == 0 else f"not done within {seconds} s" if status is None else f"FAILED with {status}"
    say(f"{name}: {said} after {took:.0f} s")
    return status == 0


def power_off(failed):
    with open(os.path.join(RESULTS, "status"), "w", encoding="ascii") as file:
        file.write(f"{1 if failed else 0}\n")
    os.sync()
    with open("/proc/sysrq-trigger", "w", encoding="ascii") as trigger:
        trigger.write("o")
    signal.pause()


def load_families():
    """What socket() would load by itself, one after the other and slowly here, while a test's clock ticks."""
    for number in range(FAMILIES):
        subprocess.run(["/usr/sbin/modprobe", "-q", f"net-pf-{number}"], check=False)
    for name in ("veth", "dummy", "tun", "nf_tables", "nf_conntrack", "nft_ct", "nft_reject_inet", "nft_tproxy"):
        subprocess.run(["/usr/sbin/modprobe", "-q", name], check=False)


def main():
    failed = ["nothing was run"]
    try:
        names = sys.argv[1:] or USUAL
        say(f"Linux {os.uname().release}; steps: {' '.join(names)}")
        load_families()
        failed = [name for name in names if not step(name)]
        say(f"{len(names) - len(failed)} steps passed, {len(failed)} failed{': ' + ' '.join(failed) if failed else ''}")
    except Exception:  # pylint: disable=broad-except # nobody is left to tell it to
        traceback.print_exc()
    finally:
        power_off(failed)


if __name__ == "__main__":
    main()
