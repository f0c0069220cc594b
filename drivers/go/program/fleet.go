// All connections of a job: opened and proved, warmed up, and set to work for the window.
package program

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const failuresInARow = 100

// fleet is the workers and what they share.
type fleet struct {
	client  *client
	job     *Job
	connect Opener
	program *program
	supply  *supply
	samples *samples
	workers []*worker
	opened  atomic.Int64
	inARow  atomic.Int64
	told    sync.Map
	version string
}

// newFleet makes the workers; none has a connection yet.
func newFleet(client *client, job *Job) (*fleet, *Failure) {
	compiled, failure := compile(&job.Workload)
	if failure != nil {
		return nil, failure
	}
	job.TLS.trust()
	connect, err := client.driver.Configure(client.name, job)
	if err != nil {
		return nil, client.refusal(err)
	}
	made := &fleet{
		client: client, job: job, connect: connect, program: compiled, samples: &samples{},
		supply: &supply{sequences: compiled.sequences},
	}
	for place := range job.Connections {
		made.workers = append(made.workers, &worker{
			fleet: made, numbers: map[*sequence]int64{}, recorder: newRecorder(),
			random: rand.New(rand.NewPCG(job.Seed, uint64(place))),
		})
	}
	return made, nil
}

// open opens each worker's connection and asks on it what was negotiated. With reconnect, it closes them.
func (f *fleet) open() ([]Negotiated, *Failure) {
	var groups []Negotiated
	for _, one := range f.workers {
		if _, failure := one.open(); failure != nil {
			return nil, failure
		}
		seen, err := f.ask(one.connection)
		if err != nil {
			return nil, f.client.failureOf(err, false)
		}
		groups = grouped(groups, seen)
	}
	if f.job.Workload.Reconnect {
		f.close()
	}
	return groups, nil
}

// ask asks the server on this very connection what was negotiated.
func (f *fleet) ask(connection Connection) (Negotiated, error) {
	if f.version == "" {
		rows, err := connection.Run("SELECT VERSION()", KeepRows)
		if err != nil {
			return Negotiated{}, err
		}
		f.version = *rows[0][0]
	}
	rows, err := connection.Run("SHOW SESSION STATUS LIKE 'Ssl%'", KeepRows)
	if err != nil {
		return Negotiated{}, err
	}
	status := map[string]string{}
	for _, row := range rows {
		status[*row[0]] = *row[1]
	}
	state, tells := connection.TLS()
	seen := Negotiated{Connections: 1, Client: viewOf(state), ClientTells: tells}
	if status["Ssl_cipher"] != "" {
		seen.Server = &TLSView{Version: status["Ssl_version"], Cipher: status["Ssl_cipher"]}
		if !strings.Contains(f.version, "MariaDB") {
			resumed := status["Ssl_sessions_reused"] != "" && status["Ssl_sessions_reused"] != "0"
			seen.Server.Resumed = &resumed
		}
	}
	return seen, nil
}

// grouped counts one more connection with those that were negotiated alike.
func grouped(groups []Negotiated, seen Negotiated) []Negotiated {
	place := slices.IndexFunc(groups, func(group Negotiated) bool {
		return reflect.DeepEqual(group.Client, seen.Client) && reflect.DeepEqual(group.Server, seen.Server)
	})
	if place < 0 {
		return append(groups, seen)
	}
	groups[place].Connections++
	return groups
}

// start sets all workers to work, with new notes; `operations` nil is as many as there is time for.
func (f *fleet) start(operations *int64) *sync.WaitGroup {
	f.supply.limit(operations)
	var working sync.WaitGroup
	for _, one := range f.workers {
		one.recorder = newRecorder()
		working.Go(one.work)
	}
	return &working
}

// close closes all connections.
func (f *fleet) close() {
	for _, one := range f.workers {
		one.close()
	}
}

// operations, failures and answers are sums over all workers since the process began.
func (f *fleet) operations() int64 {
	return f.sum(func(w *worker) int64 { return w.operations.Load() })
}
func (f *fleet) failures() int64 { return f.sum(func(w *worker) int64 { return w.failures.Load() }) }
func (f *fleet) answers() int64  { return f.sum(func(w *worker) int64 { return w.answers.Load() }) }

func (f *fleet) sum(of func(*worker) int64) int64 {
	var total int64
	for _, one := range f.workers {
		total += of(one)
	}
	return total
}

func (f *fleet) succeeded() {
	if f.inARow.Load() != 0 {
		f.inARow.Store(0)
	}
}

// failed tells a failure the first time that it is met; a hundred in a row end the job.
func (f *fleet) failed(failure *Failure) {
	if f.inARow.Add(1) >= failuresInARow {
		end(failure)
	}
	if _, known := f.told.LoadOrStore(errorKey{failure.kind, failure.code}, true); !known {
		event := failure.event()
		event.Fatal = false
		say(event)
	}
}

// openingFailure is what it means that a connection cannot be opened. Where the driver takes an option that it does
// not know for a setting of the server's, it is the server who refuses it.
func (f *fleet) openingFailure(err error) *Failure {
	failure := f.client.failureOf(err, true)
	if len(f.job.Driver.Options) > 0 && slices.Contains(f.client.driver.Errors.SettingRefused, failure.code) {
		failure.kind = "bad_job"
	}
	return failure
}

// watch ends the job when nothing was answered for timeout_s while something should have been. The driver is
// told no time limit: its own would be a call of the system's for every read.
func (f *fleet) watch(busy *atomic.Bool) {
	patience := Seconds(f.job.TimeoutS)
	last, since := int64(-1), time.Now()
	for range time.Tick(max(patience/8, time.Millisecond)) {
		now := f.answers() + f.failures()
		if now != last || !busy.Load() {
			last, since = now, time.Now()
		} else if time.Since(since) > patience {
			end(&Failure{kind: "timeout", message: fmt.Sprintf("the server said nothing for %g s", f.job.TimeoutS)})
		}
	}
}
