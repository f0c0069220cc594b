// A driver behind the contract: a job from standard input, events to standard output.
package program

import (
	"os"
	"runtime/debug"
	"strings"
)

// client is the driver by its name in the laboratory.
type client struct {
	name   string
	driver *Driver
}

// Main does a job with a driver, whose name in the laboratory is the one argument of the program.
func Main(driver *Driver) {
	client := &client{name: driver.Product, driver: driver}
	if len(os.Args) > 1 {
		client.name = os.Args[1]
	}
	laboratory := listen(standardInput())
	line, more := <-laboratory.said
	if !more {
		return
	}
	job, failure := client.readJob([]byte(line))
	if failure != nil {
		end(failure)
	}
	if err := pin(job.CPUs); err != nil {
		end(&Failure{kind: "limits", message: "the process cannot be kept on the job's cpus: " + err.Error()})
	}
	fleet, failure := newFleet(client, job)
	if failure != nil {
		end(failure)
	}
	converse(fleet, laboratory)
}

// converse does the job: open, warm up, ready, a slice for each go, done, and keep the connections until the end.
func converse(fleet *fleet, laboratory *laboratory) {
	warm := make(chan struct{})
	go fleet.watch(warm)
	negotiated, failure := fleet.open()
	if failure != nil {
		end(failure)
	}
	warmup, steady := fleet.warmUp()
	close(warm)
	window := fleet.openWindow()
	say(Ready{
		Event: "ready", Client: fleet.client.name, ClientVersion: linkedVersion(fleet.client.driver.Module),
		PID: os.Getpid(), ServerVersion: fleet.version, Negotiated: negotiated, Warmup: warmup, Steady: steady,
	})
	measure(window, laboratory.said)
	laboratory.done.Store(true)
	say(window.done())
	for range laboratory.said {
		continue
	}
	fleet.close()
}

// measure does a slice for each go, until the end.
func measure(window *window, said <-chan string) {
	for line := range said {
		length, is, failure := order(line)
		switch {
		case failure != nil:
			end(failure)
		case is == goOn:
			say(window.slice(length))
		case is == endOfSlices && window.elapsed == 0:
			end(BadJob("`end` came before the first `go`: nothing was measured"))
		case is == endOfSlices:
			return
		}
	}
}

// linkedVersion is the version of a module that was linked in.
func linkedVersion(path string) string {
	if built, known := debug.ReadBuildInfo(); known {
		for _, module := range built.Deps {
			if module.Path == path {
				return strings.TrimPrefix(module.Version, "v")
			}
		}
	}
	return "unknown"
}
