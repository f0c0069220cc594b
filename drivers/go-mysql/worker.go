// One connection's work: operations one after the other, timed, on a connection that is kept or opened anew.
package main

import (
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/go-mysql-org/go-mysql/client"
	"github.com/go-mysql-org/go-mysql/mysql"
)

const longestNs = int64(10 * time.Minute)

type errorKey struct {
	kind string
	code int
}

// notes are what one worker writes down; new ones are begun with the window.
type notes struct {
	started int64
	phases  map[string]*hdrhistogram.Histogram
	errors  map[errorKey]int64
}

func newNotes() *notes {
	return &notes{phases: map[string]*hdrhistogram.Histogram{}, errors: map[errorKey]int64{}}
}

func (n *notes) phase(name string) *hdrhistogram.Histogram {
	if n.phases[name] == nil {
		n.phases[name] = hdrhistogram.New(1, longestNs, 3)
	}
	return n.phases[name]
}

func (n *notes) record(phase string, took time.Duration) {
	_ = n.phase(phase).RecordValue(min(max(took.Nanoseconds(), 1), longestNs))
}

// worker has one connection. What other goroutines read of it while it works is atomic.
type worker struct {
	load       *load
	random     *rand.Rand
	numbers    []int64
	values     []any
	notes      *notes
	connection *client.Conn
	prepared   []*client.Stmt
	fresh      bool
	operations atomic.Int64
	failures   atomic.Int64
	answers    atomic.Int64
}

// open opens the connection, says what is said on connecting, and prepares. `connect` is the driver's part.
func (w *worker) open() (connect time.Duration, wrong *failure) {
	began := time.Now()
	connection, err := w.load.opener.open()
	connect = time.Since(began)
	if err != nil {
		return connect, failureOf(err, true)
	}
	w.load.opened.Add(1)
	w.answers.Add(1)
	w.connection, w.fresh = connection, true
	w.prepared = make([]*client.Stmt, len(w.load.statements))
	for _, words := range w.load.job.Workload.OnConnect {
		if _, err = connection.Execute(words); err != nil {
			w.close()
			return connect, failureOf(err, false)
		}
	}
	for place, one := range w.load.statements {
		if !one.prepared {
			continue
		}
		if w.prepared[place], err = connection.Prepare(one.marked()); err != nil {
			w.close()
			return connect, failureOf(err, false)
		}
	}
	return connect, nil
}

// close hangs up as the driver does by itself: without COM_QUIT, for which there is another call.
func (w *worker) close() {
	if w.connection != nil {
		_ = w.connection.Close()
	}
	w.connection, w.prepared = nil, nil
}

// work does operations until no more may be started.
func (w *worker) work() {
	for w.load.reserve(w.numbers) {
		w.notes.started++
		began := time.Now()
		if wrong := w.operation(); wrong != nil {
			w.notes.errors[errorKey{wrong.kind, wrong.code}]++
			w.failures.Add(1)
			w.load.failed(wrong)
			continue
		}
		w.notes.record("operation", time.Since(began))
		w.operations.Add(1)
		w.load.inARow.Store(0)
	}
}

// operation does all statements once. With reconnect it opens and closes a connection for them.
func (w *worker) operation() *failure {
	reconnect := w.load.job.Workload.Reconnect
	if w.connection == nil {
		connect, wrong := w.open()
		if wrong != nil {
			return wrong
		}
		if reconnect {
			w.notes.record("connect", connect)
		}
	}
	for place, one := range w.load.statements {
		for range one.repeat {
			if err := w.run(place, one); err != nil {
				wrong := failureOf(err, false)
				if reconnect || wrong.kind != "server_error" {
					w.close()
				}
				return wrong
			}
		}
	}
	if reconnect {
		began := time.Now()
		w.close()
		w.notes.record("close", time.Since(began))
	}
	return nil
}

// run draws values, runs a statement, reads all that it answers, and times that.
func (w *worker) run(place int, one *statement) error {
	w.values = w.values[:0]
	for _, draw := range one.makers {
		w.values = append(w.values, draw(w))
	}
	began := time.Now()
	var result *mysql.Result
	var err error
	if one.prepared {
		result, err = w.prepared[place].Execute(one.bound(w.values)...)
	} else {
		result, err = w.connection.Execute(one.literal(w.values))
	}
	if err != nil {
		return err
	}
	took := time.Since(began)
	w.answers.Add(1)
	if w.fresh {
		w.notes.record("first_query", took)
	} else {
		w.notes.record("query", took)
	}
	w.fresh = false
	if w.load.samplesLeft.Load() > 0 && w.load.samplesLeft.Add(-1) >= 0 {
		rows, err := texts(result)
		if err != nil {
			return err
		}
		w.load.keep(event{"sql": one.literal(w.values), "rows": rows})
	}
	result.Close()
	return nil
}

// texts are all values as strings, nil for NULL. They are copies: the driver uses a result's memory again.
func texts(result *mysql.Result) ([][]*string, error) {
	rows := [][]*string{}
	for place := range result.Values {
		row := make([]*string, len(result.Fields))
		for column := range row {
			if result.Values[place][column].Value() == nil {
				continue
			}
			text, err := result.GetString(place, column)
			if err != nil {
				return nil, err
			}
			text = strings.Clone(text)
			row[column] = &text
		}
		rows = append(rows, row)
	}
	return rows, nil
}
