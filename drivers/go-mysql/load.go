// All connections of a job: opened and proved, set to work, and what came of it.
package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// load is the workers and what they share.
type load struct {
	job         *job
	opener      *opener
	statements  []*statement
	sequences   []*sequence
	workers     []*worker
	version     string
	mutex       sync.Mutex
	left        *int64
	samples     []event
	told        map[errorKey]bool
	samplesLeft atomic.Int64
	opened      atomic.Int64
	inARow      atomic.Int64
	stopped     atomic.Bool
	busy        atomic.Bool
}

// negotiated is how many connections were negotiated alike, and what both sides say of them.
type negotiated struct {
	Connections int      `json:"connections"`
	Client      *tlsView `json:"client"`
	Server      *tlsView `json:"server"`
	ClientTells bool     `json:"client_tells"`
}

// newLoad makes the workers; none has a connection yet.
func newLoad(asked *job) (*load, *failure) {
	opener, wrong := newOpener(asked)
	if wrong != nil {
		return nil, wrong
	}
	made := &load{job: asked, opener: opener, told: map[errorKey]bool{}, samples: []event{}}
	for place := range asked.Workload.Statements {
		one, wrong := compile(&asked.Workload.Statements[place], asked.Workload.Protocol, &made.sequences)
		if wrong != nil {
			return nil, wrong
		}
		made.statements = append(made.statements, one)
	}
	for place := range asked.Connections {
		made.workers = append(made.workers, &worker{
			load: made, numbers: make([]int64, len(made.sequences)), notes: newNotes(),
			random: rand.New(rand.NewPCG(asked.Seed, uint64(place))),
		})
	}
	return made, nil
}

// setUp opens and proves the connections, warms up, and tells of it.
func (l *load) setUp() event {
	l.busy.Store(true)
	defer l.busy.Store(false)
	groups := []*negotiated{}
	for _, one := range l.workers {
		if _, wrong := one.open(); wrong != nil {
			end(wrong)
		}
		seen, err := l.ask(one)
		if err != nil {
			end(failureOf(err, false))
		}
		groups = grouped(groups, seen)
	}
	if l.job.Workload.Reconnect {
		l.close()
	}
	warmup, steady := l.warmUp()
	return event{
		"event": "ready", "client": clientName, "client_version": driverVersion(), "pid": os.Getpid(),
		"server_version": l.version, "tls_library": nil, "negotiated": groups, "warmup": warmup, "steady": steady,
	}
}

// ask asks the server on this very connection what was negotiated.
func (l *load) ask(one *worker) (*negotiated, error) {
	l.version = one.connection.GetServerVersion()
	result, err := one.connection.Execute("SHOW SESSION STATUS LIKE 'Ssl%'")
	if err != nil {
		return nil, err
	}
	rows, err := texts(result)
	status := map[string]string{}
	for _, row := range rows {
		status[*row[0]] = *row[1]
	}
	seen := &negotiated{Connections: 1, Client: viewOf(one.connection), ClientTells: true}
	if status["Ssl_cipher"] != "" {
		seen.Server = &tlsView{Version: status["Ssl_version"], Cipher: status["Ssl_cipher"]}
		if !strings.Contains(l.version, "MariaDB") {
			resumed := status["Ssl_sessions_reused"] != "" && status["Ssl_sessions_reused"] != "0"
			seen.Server.Resumed = &resumed
		}
	}
	return seen, err
}

// grouped counts one more connection with those that were negotiated alike.
func grouped(groups []*negotiated, seen *negotiated) []*negotiated {
	for _, group := range groups {
		if reflect.DeepEqual(group.Client, seen.Client) && reflect.DeepEqual(group.Server, seen.Server) {
			group.Connections++
			return groups
		}
	}
	return append(groups, seen)
}

// start sets all workers to work, with new notes; `operations` nil is as many as there is time for.
func (l *load) start(operations *int64) *sync.WaitGroup {
	l.left = operations
	l.stopped.Store(false)
	var working sync.WaitGroup
	for _, one := range l.workers {
		one.notes = newNotes()
		working.Go(one.work)
	}
	return &working
}

// reserve starts one operation: it gives the first of its numbers of each sequence. False where none may be
// started; then none may be any more.
func (l *load) reserve(numbers []int64) bool {
	if l.stopped.Load() {
		return false
	}
	if l.left == nil && len(l.sequences) == 0 {
		return true
	}
	l.mutex.Lock()
	defer l.mutex.Unlock()
	enough := l.left == nil || *l.left > 0
	for _, one := range l.sequences {
		enough = enough && one.next+one.each-1 <= one.last
	}
	if !enough {
		l.stopped.Store(true)
		return false
	}
	if l.left != nil {
		*l.left--
	}
	for place, one := range l.sequences {
		numbers[place] = one.next
		one.next += one.each
	}
	return true
}

// measure does the window's work and tells of it.
func (l *load) measure() event {
	l.busy.Store(true)
	defer l.busy.Store(false)
	if l.selectsAlone() {
		l.samplesLeft.Store(int64(l.job.RowSamples))
	}
	opened, operations, cpu := l.opened.Load(), l.operations(), cpuUsed()
	began := time.Now()
	working := l.start(l.job.Operations)
	finished := make(chan struct{})
	go l.tell(began, finished)
	alarm := time.AfterFunc(seconds(l.job.DurationS), func() { l.stopped.Store(true) })
	working.Wait()
	elapsed, used := time.Since(began), cpuUsed().since(cpu)
	alarm.Stop()
	close(finished)
	scheduled, histograms, errors := l.summed()
	return event{
		"event": "done", "elapsed_s": elapsed.Seconds(), "operations": l.operations() - operations,
		"scheduled": scheduled, "skipped": 0, "window": counts(l.opened.Load() - opened),
		"lifetime": counts(l.opened.Load()), "histograms_ns": histograms, "cpu": used, "wire": nil,
		"errors": errors, "row_samples": l.samples,
	}
}

// summed are the notes of all workers: operations that were started, histograms, and errors.
func (l *load) summed() (int64, map[string]string, []event) {
	all := newNotes()
	for _, one := range l.workers {
		all.started += one.notes.started
		for name, phase := range one.notes.phases {
			all.phase(name).Merge(phase)
		}
		for key, count := range one.notes.errors {
			all.errors[key] += count
		}
	}
	histograms, errors := map[string]string{}, []event{}
	for name, phase := range all.phases {
		text, err := phase.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
		if err != nil {
			end(&failure{kind: "internal", message: "a histogram cannot be encoded: " + err.Error()})
		}
		histograms[name] = string(text)
	}
	for key, count := range all.errors {
		errors = append(errors, event{"kind": key.kind, "code": codeOf(key.code), "count": count})
	}
	return all.started, histograms, errors
}

func counts(connections int64) event {
	return event{"connections": connections, "handshakes": []event{}, "authentications": event{}}
}

// tell says once a second what was finished since it last did.
func (l *load) tell(began time.Time, finished <-chan struct{}) {
	operations, errors := l.operations(), l.failures()
	every := time.NewTicker(time.Second)
	defer every.Stop()
	for {
		select {
		case <-finished:
			return
		case <-every.C:
			now, failed := l.operations(), l.failures()
			say(event{
				"event": "interval", "elapsed_s": time.Since(began).Seconds(), "operations": now - operations,
				"errors": failed - errors,
			})
			operations, errors = now, failed
		}
	}
}

// failed tells a failure the first time that it is met; a hundred in a row end the job.
func (l *load) failed(wrong *failure) {
	if l.inARow.Add(1) >= 100 {
		end(wrong)
	}
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if key := (errorKey{wrong.kind, wrong.code}); !l.told[key] {
		l.told[key] = true
		say(wrong.event(false))
	}
}

// watch ends the job when nothing was answered for timeout_s while something should have been. The driver is
// told no time limit: its own would be a call of the system's for every read.
func (l *load) watch() {
	patience := seconds(l.job.TimeoutS)
	last, since := int64(-1), time.Now()
	for range time.Tick(max(patience/8, time.Millisecond)) {
		now := l.sum(func(w *worker) int64 { return w.answers.Load() + w.failures.Load() })
		if now != last || !l.busy.Load() {
			last, since = now, time.Now()
		} else if time.Since(since) > patience {
			end(&failure{kind: "timeout", message: fmt.Sprintf("the server said nothing for %g s", l.job.TimeoutS)})
		}
	}
}

func (l *load) keep(sample event) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.samples = append(l.samples, sample)
}

func (l *load) selectsAlone() bool {
	for _, one := range l.statements {
		if !one.asks {
			return false
		}
	}
	return true
}

func (l *load) close() {
	for _, one := range l.workers {
		one.close()
	}
}

func (l *load) operations() int64 {
	return l.sum(func(w *worker) int64 { return w.operations.Load() })
}
func (l *load) failures() int64 { return l.sum(func(w *worker) int64 { return w.failures.Load() }) }

func (l *load) sum(of func(*worker) int64) int64 {
	var total int64
	for _, one := range l.workers {
		total += of(one)
	}
	return total
}
