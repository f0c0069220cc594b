// A driver behind the contract: a job from standard input, events to standard output.
package program

import (
	"bufio"
	"os"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"time"
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
	input := bufio.NewReader(os.Stdin)
	line, err := input.ReadBytes('\n')
	if err != nil && len(line) == 0 {
		return
	}
	job, failure := client.readJob(line)
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
	converse(fleet, listen(input))
}

// conversation is what the laboratory says after the job; `over` is when its end is closed.
type conversation struct {
	begin chan struct{}
	over  chan struct{}
	done  atomic.Bool
}

// listen hears `go`. When the laboratory is gone before all is done, the process ends at once.
func listen(input *bufio.Reader) *conversation {
	heard := &conversation{begin: make(chan struct{}), over: make(chan struct{})}
	go func() {
		begun := false
		for {
			line, err := input.ReadString('\n')
			if strings.TrimSpace(line) == "go" && !begun {
				begun = true
				close(heard.begin)
			}
			if err != nil {
				break
			}
		}
		if !heard.done.Load() {
			os.Exit(0)
		}
		close(heard.over)
	}()
	return heard
}

// converse does the job: open, warm up, ready, go, done, and keep the connections until the end.
func converse(fleet *fleet, laboratory *conversation) {
	var busy atomic.Bool
	busy.Store(true)
	go fleet.watch(&busy)
	negotiated, failure := fleet.open()
	if failure != nil {
		end(failure)
	}
	warmup, steady := fleet.warmUp()
	busy.Store(false)
	say(Ready{
		Event: "ready", Client: fleet.client.name, ClientVersion: linkedVersion(fleet.client.driver.Module),
		PID: os.Getpid(), ServerVersion: fleet.version, Negotiated: negotiated, Warmup: warmup, Steady: steady,
	})
	<-laboratory.begin
	busy.Store(true)
	result := fleet.measure()
	busy.Store(false)
	laboratory.done.Store(true)
	say(result)
	<-laboratory.over
	fleet.close()
}

// measure does the window's work.
func (f *fleet) measure() Done {
	if f.program.selects {
		f.samples.left.Store(int64(f.job.RowSamples))
	}
	opened, operations, cpu := f.opened.Load(), f.operations(), cpuTime()
	began := time.Now()
	working := f.start(f.job.Operations)
	finished := make(chan struct{})
	go f.tell(began, finished)
	alarm := time.AfterFunc(Seconds(f.job.DurationS), f.supply.stop)
	working.Wait()
	elapsed, used := time.Since(began), cpuTime().less(cpu)
	alarm.Stop()
	close(finished)
	notes := newRecorder()
	for _, one := range f.workers {
		notes.add(one.recorder)
	}
	return Done{
		Event: "done", ElapsedS: elapsed.Seconds(), Operations: f.operations() - operations,
		Scheduled: notes.started, Window: counts(f.opened.Load() - opened),
		Lifetime: counts(f.opened.Load()), HistogramsNs: notes.encoded(), CPU: used,
		ThreadsCPUUs: []float64{}, Errors: notes.counted(), RowSamples: append([]RowSample{}, f.samples.kept...),
		ReportedS: map[string]float64{}, RoundsS: []float64{}, PhaseWire: map[string]string{},
	}
}

func counts(connections int64) Counts {
	return Counts{Connections: connections, Handshakes: []struct{}{}, Authentications: map[string]int64{}}
}

// tell says once a second what was finished since it last did.
func (f *fleet) tell(began time.Time, finished <-chan struct{}) {
	operations, errors := f.operations(), f.failures()
	every := time.NewTicker(time.Second)
	defer every.Stop()
	for {
		select {
		case <-finished:
			return
		case <-every.C:
			now, failed := f.operations(), f.failures()
			say(Interval{"interval", time.Since(began).Seconds(), now - operations, failed - errors})
			operations, errors = now, failed
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
