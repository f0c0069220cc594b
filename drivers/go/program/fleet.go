// All connections of a job: opened and proved, warmed up, and set to work for the window.
package program

import (
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
	// until is when a slice's time is over, written while no worker works; `working` are those that do, and the last
	// of them says `finished`.
	until    time.Time
	working  atomic.Int64
	finished chan struct{}
}

// newFleet makes the workers, each waiting at its gate; none has a connection yet.
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
		supply: &supply{sequences: compiled.sequences}, finished: make(chan struct{}, 1),
	}
	for place := range job.Connections {
		one := &worker{
			fleet: made, gate: make(chan struct{}, 1), numbers: map[*sequence]int64{}, recorder: newRecorder(),
			random: rand.New(rand.NewPCG(job.Seed, uint64(place))),
		}
		made.workers = append(made.workers, one)
		go one.serve()
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

// begin gives all workers new notes; `operations` nil is as many as there is time for.
func (f *fleet) begin(operations *int64) {
	f.supply.limit(operations)
	for _, one := range f.workers {
		one.recorder = newRecorder()
	}
}

// workUntil sets all workers to work. What it gives back is heard when all have done what they had begun by then.
func (f *fleet) workUntil(until time.Time) <-chan struct{} {
	f.until = until
	f.working.Store(int64(len(f.workers)))
	for _, one := range f.workers {
		one.gate <- struct{}{}
	}
	return f.finished
}

// lastAnswer is when the last operation ended, since the notes were new.
func (f *fleet) lastAnswer() time.Time {
	var last time.Time
	for _, one := range f.workers {
		if one.recorder.lastAnswer.After(last) {
			last = one.recorder.lastAnswer
		}
	}
	return last
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
