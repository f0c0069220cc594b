"""The least driver program behind the contract: PyMySQL, one thread, text statements, no histograms.

Its option `own_connections` makes it open N connections by itself, as a driver may.
"""

import json
import os
import random
import resource
import select
import ssl
import sys
import time

import pymysql

KNOWN = {
    "schema",
    "endpoint",
    "account",
    "tls",
    "workload",
    "schedule",
    "connections",
    "threads",
    "cpus",
    "warmup_s",
    "duration_s",
    "operations",
    "rounds",
    "reset",
    "timeout_s",
    "source_addresses",
    "seed",
    "row_samples",
    "attributes",
    "driver",
}
KINDS = {1045: "access_denied", 1251: "access_denied", 2003: "connect", 2026: "no_tls"}


class Refused(Exception):
    pass


def say(event):
    sys.stdout.write(json.dumps(event) + "\n")
    sys.stdout.flush()


def check(job):
    tls, workload = job["tls"], job["workload"]
    unknown = job.keys() - KNOWN
    if unknown:
        raise Refused(f"the job has a field {unknown.pop()!r} that is not known here")
    wrong = [
        (job["schema"] != 2, f"schema {job['schema']} is not known here"),
        (workload["mix"] or workload["storm"], "it does statements alone, no mix and no storm"),
        (job["schedule"]["mode"] != "closed", "it cannot be given a rate"),
        (job["reset"], "it does not work in rounds"),
        (job["driver"] and job["driver"]["batch"] > 1, "it sends no batches"),
        *(
            (tls.get(field), f"it cannot be told {field}")
            for field in ("cipher_list", "ciphersuites", "groups", "resumption", "library", "weak_dh")
        ),
    ]
    for refused, words in wrong:
        if refused:
            raise Refused(words)


def arguments_of(job):
    tls, endpoint, account = job["tls"], job["endpoint"], job["account"]
    options = dict(job["driver"]["options"] if job["driver"] else {})
    own = int(options.pop("own_connections", 0))
    given = {
        "user": account["user"],
        "password": account["password"],
        "database": account["database"],
        "connect_timeout": int(job["timeout_s"]) or 1,
        "autocommit": True,
    }
    if endpoint["kind"] == "tcp":
        given |= {"host": endpoint["host"], "port": endpoint["port"]}
    else:
        given |= {"unix_socket": endpoint["path"]}
    if tls["mode"] == "off":
        given |= {"ssl_disabled": True}
    if tls["mode"] == "required":
        given |= {"ssl": {"ca": None}}
    if tls["mode"] == "on":
        given |= {"ssl": context_of(tls)}
    return given | options, own


def context_of(tls):
    context = ssl.create_default_context(cafile=tls["ca_file"])
    context.check_hostname = tls["verify"] == "identity"
    context.verify_mode = ssl.CERT_NONE if tls["verify"] == "none" else ssl.CERT_REQUIRED
    versions = {"1.2": ssl.TLSVersion.TLSv1_2, "1.3": ssl.TLSVersion.TLSv1_3}
    if tls["min_version"]:
        context.minimum_version = context.maximum_version = versions[tls["min_version"]]
    return context


class Load:
    def __init__(self, job):
        self.job, self.workload = job, job["workload"]
        self.random = random.Random(job["seed"])  # noqa: S311
        self.samples, self.opened, self.errors = [], 0, {}
        self.latency_s = 0.0
        self.arguments, own = arguments_of(job)
        self.kept = [self.open() for _ in range(job["connections"])]
        self.own = [pymysql.connect(**self.arguments) for _ in range(own)]

    def open(self):
        connection = pymysql.connect(**self.arguments)
        self.opened += 1
        with connection.cursor() as cursor:
            for sql in self.workload["on_connect"]:
                cursor.execute(sql)
        return connection

    def negotiated(self):
        seen = []
        for connection in self.kept:
            with connection.cursor() as cursor:
                cursor.execute("SHOW SESSION STATUS LIKE 'Ssl%'")
                told = dict(cursor.fetchall())
            view = None
            if told["Ssl_version"]:
                others = dict.fromkeys(("group", "hello_retry", "certificate_key", "certificate_sha256"))
                view = {
                    "version": told["Ssl_version"],
                    "cipher": told["Ssl_cipher"],
                    "resumed": None,
                    **others,
                }
            seen.append({"connections": 1, "client": None, "server": view, "client_tells": False})
        return seen

    def value(self, parameter):
        if parameter["kind"] == "uniform_int":
            return self.random.randint(parameter["low"], parameter["high"])
        if parameter["kind"] == "one_of":
            return f"'{self.random.choice(parameter['values'])}'"
        if parameter["kind"] == "digits":
            return (
                "'"
                + "".join(c if c != "#" else str(self.random.randrange(10)) for c in parameter["template"])
                + "'"
            )
        raise Refused(f"it has no parameter {parameter['kind']}")

    def operation(self, connection):
        for statement in self.workload["statements"]:
            for _ in range(statement["repeat"]):
                values = {name: self.value(one) for name, one in statement["parameters"].items()}
                sql = statement["sql"].format(**values)
                with connection.cursor() as cursor:
                    cursor.execute(sql)
                    rows = cursor.fetchall()
                if len(self.samples) < self.job["row_samples"] and sql.upper().startswith("SELECT"):
                    self.samples.append(
                        {"sql": sql, "rows": [[None if v is None else str(v) for v in row] for row in rows]}
                    )

    def work(self, until, most=None):
        done, turn = 0, 0
        while time.monotonic() < until and (most is None or turn < most):
            turn += 1
            started = time.monotonic()
            if select.select([0], [], [], 0)[0] and not os.read(0, 1):
                sys.exit(1)
            try:
                if self.workload["reconnect"]:
                    connection = self.open()
                    self.operation(connection)
                    connection.close()
                else:
                    self.operation(self.kept[turn % len(self.kept)])
                done += 1
                self.latency_s += time.monotonic() - started
            except pymysql.Error as error:
                self.errors[error.args[0]] = self.errors.get(error.args[0], 0) + 1
                if sum(self.errors.values()) > 100:
                    raise
        return done, turn


NOT_COUNTED = {"handshakes": [], "authentications": {}}


class Window:
    """All slices: a line `go SECONDS` begins one, a line `end` ends them all."""

    def __init__(self, load):
        self.load, self.most = load, load.job["operations"]
        self.elapsed_s, self.operations, self.started, self.opened = 0.0, 0, 0, 0
        self.cpu_us = {"total_us": 0.0, "user_us": 0.0, "system_us": 0.0}

    def serve(self):
        """Whether the laboratory has asked for the result."""
        slices = 0
        for line in iter(sys.stdin.readline, ""):
            words = line.split()
            if words[:1] == ["go"]:
                say(self.slice(length_s(words[1:])))
                slices += 1
            elif words == ["end"] and slices == 0:
                raise Refused("end came before the first slice")
            elif words == ["end"]:
                return True
        return False

    def slice(self, length):
        begun, before = time.monotonic(), cpu()
        opened, latency_s = self.load.opened, self.load.latency_s
        left = None if self.most is None else self.most - self.started
        operations, started = self.load.work(begun + length, left)
        took_s = time.monotonic() - begun if started else length
        used = {name: after - before[name] for name, after in cpu().items()}
        opened = self.load.opened - opened
        self.elapsed_s += took_s
        self.operations += operations
        self.started += started
        self.opened += opened
        self.cpu_us = {name: used[name] + sum_us for name, sum_us in self.cpu_us.items()}
        return {
            "event": "slice",
            "elapsed_s": took_s,
            "operations": operations,
            "latency_sum_s": self.load.latency_s - latency_s,
            "cpu_us": used["total_us"],
            "counts": {"connections": opened, **NOT_COUNTED},
        }


def length_s(words):
    try:
        (length,) = map(float, words)
    except ValueError:
        length = 0.0
    if not 0 < length <= 365 * 24 * 3600:
        raise Refused("go needs the length of a slice in seconds, a year at most")
    return length


def cpu():
    used = resource.getrusage(resource.RUSAGE_SELF)
    user_us, system_us = used.ru_utime * 1e6, used.ru_stime * 1e6
    return {"total_us": time.process_time() * 1e6, "user_us": user_us, "system_us": system_us}


def serve(name):
    job = json.loads(sys.stdin.readline())
    check(job)
    if job["cpus"]:
        os.sched_setaffinity(0, job["cpus"])
    load = Load(job)
    negotiated, server = load.negotiated(), load.kept[0].get_server_info()
    if job["workload"]["reconnect"]:
        for connection in load.kept:
            connection.close()
    load.work(time.monotonic() + job["warmup_s"])
    load.samples.clear()
    load.errors.clear()
    say(
        {
            "event": "ready",
            "client": name,
            "client_version": pymysql.__version__,
            "pid": os.getpid(),
            "server_version": server,
            "tls_library": None,
            "negotiated": negotiated,
        }
    )
    window = Window(load)
    if not window.serve():
        return 1
    say(
        {
            "event": "done",
            "elapsed_s": window.elapsed_s,
            "operations": window.operations,
            "scheduled": window.started,
            "skipped": 0,
            "window": {"connections": window.opened, **NOT_COUNTED},
            "lifetime": {"connections": load.opened, **NOT_COUNTED},
            "histograms_ns": {},
            "cpu": window.cpu_us,
            "wire": None,
            "row_samples": load.samples if all_select(job) else [],
            "errors": [{"kind": "server_error", "code": code, "count": n} for code, n in load.errors.items()],
        }
    )
    sys.stdin.read()
    for connection in [*load.kept, *load.own]:
        if connection.open:
            connection.close()
    return 0


def all_select(job):
    return all(one["sql"].upper().startswith("SELECT") for one in job["workload"]["statements"])


def main(name):
    try:
        return serve(name)
    except Refused as refused:
        kind, fault, code, words = "bad_job", "job", None, str(refused)
    except (TypeError, ValueError) as error:
        kind, fault, code, words = "bad_job", "job", None, str(error)
    except pymysql.Error as error:
        code = error.args[0] if isinstance(error.args[0], int) else None
        kind, fault, words = KINDS.get(code, "server_error"), "server", str(error.args[-1])
    say(
        {
            "event": "error",
            "kind": kind,
            "fault": fault,
            "fatal": True,
            "message": f"{name} says: {words}",
            "code": code,
        }
    )
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
