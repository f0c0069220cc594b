// One connection's work: operations one after the other, timed, on a connection that is kept or opened anew.
package program

import (
	"math/rand/v2"
	"sync/atomic"
	"time"
)

// worker has one connection. What other goroutines read of it while it works is atomic.
type worker struct {
	fleet      *fleet
	gate       chan struct{}
	random     *rand.Rand
	numbers    map[*sequence]int64
	values     []any
	recorder   *recorder
	connection Connection
	prepared   []Prepared
	fresh      bool
	answers    atomic.Int64
	operations atomic.Int64
	failures   atomic.Int64
}

// open opens the connection, says what is said on connecting, and prepares. `connect` is the driver's part.
func (w *worker) open() (connect time.Duration, failure *Failure) {
	began := time.Now()
	connection, err := w.fleet.connect()
	connect = time.Since(began)
	if err != nil {
		return connect, w.fleet.openingFailure(err)
	}
	w.connection, w.fresh = connection, true
	w.fleet.opened.Add(1)
	w.answers.Add(1)
	if err = w.setUp(); err != nil {
		w.close()
		return connect, w.fleet.client.failureOf(err, false)
	}
	return connect, nil
}

// setUp says what is said on connecting, and prepares what is to be.
func (w *worker) setUp() (err error) {
	for _, words := range w.fleet.job.Workload.OnConnect {
		if _, err = w.connection.Run(words, NoRows); err != nil {
			return err
		}
	}
	w.prepared = make([]Prepared, len(w.fleet.program.templates))
	for place, one := range w.fleet.program.templates {
		if !one.prepared {
			continue
		}
		if w.prepared[place], err = w.connection.Prepare(one.preparable); err != nil {
			return err
		}
	}
	return nil
}

// close hangs up.
func (w *worker) close() {
	if w.connection != nil {
		w.connection.Close()
	}
	w.connection, w.prepared = nil, nil
}

// serve works each time that the gate is opened.
func (w *worker) serve() {
	for range w.gate {
		w.work()
		if w.fleet.working.Add(-1) == 0 {
			w.fleet.finished <- struct{}{}
		}
	}
}

// work does operations until no more may be started.
func (w *worker) work() {
	for {
		began := time.Now()
		if !began.Before(w.fleet.until) || !w.fleet.supply.reserve(w.numbers) {
			return
		}
		w.recorder.started++
		failure := w.operation()
		if failure != nil {
			w.recorder.fail(failure)
			w.failures.Add(1)
			w.fleet.failed(failure)
			continue
		}
		w.recorder.succeed(began)
		w.operations.Add(1)
		w.fleet.succeeded()
	}
}

// operation does all statements once. With reconnect it opens and closes a connection for them.
func (w *worker) operation() *Failure {
	reconnect := w.fleet.job.Workload.Reconnect
	if w.connection == nil {
		connect, failure := w.open()
		if failure != nil {
			return failure
		}
		if reconnect {
			w.recorder.connect.record(connect)
		}
	}
	for place, one := range w.fleet.program.templates {
		for range one.repeat {
			if err := w.statement(place, one); err != nil {
				failure := w.fleet.client.failureOf(err, false)
				// One that the server refused left the connection as good as before.
				if reconnect || failure.kind != "server_error" {
					w.close()
				}
				return failure
			}
		}
	}
	if reconnect {
		began := time.Now()
		w.close()
		w.recorder.close.record(time.Since(began))
	}
	return nil
}

// statement draws values, runs one statement, reads all that it answers, and times that.
func (w *worker) statement(place int, one *template) error {
	w.values = w.values[:0]
	for _, draw := range one.makers {
		w.values = append(w.values, draw(w.random, w.values, w.take))
	}
	want := w.fleet.samples.want(one)
	began := time.Now()
	rows, err := w.run(place, one, want)
	if err != nil {
		return err
	}
	took := time.Since(began)
	w.answers.Add(1)
	if w.fresh {
		w.recorder.firstQuery.record(took)
		w.fresh = false
	} else {
		w.recorder.query.record(took)
	}
	if want == KeepRows {
		w.fleet.samples.keep(one, w.values, rows)
	}
	return nil
}

func (w *worker) run(place int, one *template, want Want) ([][]*string, error) {
	if one.prepared {
		return w.prepared[place].Run(one.bound(w.values), want)
	}
	return w.connection.Run(one.render(w.values), want)
}

func (w *worker) take(numbers *sequence) int64 {
	next := w.numbers[numbers]
	w.numbers[numbers] = next + 1
	return next
}
