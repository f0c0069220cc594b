// One connection's work: operations one after the other, timed, on a connection that is kept or opened anew.
package main

import (
	"context"
	"database/sql"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"time"
)

// worker has one connection. What other goroutines read of it while it works is atomic.
type worker struct {
	fleet      *fleet
	random     *rand.Rand
	numbers    map[*sequence]int64
	values     []any
	recorder   *recorder
	pool       *sql.DB
	connection *sql.Conn
	prepared   []*sql.Stmt
	fresh      bool
	answers    atomic.Int64
	operations atomic.Int64
	failures   atomic.Int64
}

// open opens the connection, says what is said on connecting, and prepares. `connect` is the driver's part.
func (w *worker) open() (connect time.Duration, failure *Failure) {
	began := time.Now()
	w.pool = sql.OpenDB(w.fleet.opener)
	connection, err := w.pool.Conn(context.Background())
	connect = time.Since(began)
	if err != nil {
		w.close()
		return connect, w.fleet.openingFailure(err)
	}
	w.connection, w.fresh = connection, true
	w.answers.Add(1)
	for _, words := range w.fleet.job.Workload.OnConnect {
		if _, err = connection.ExecContext(context.Background(), words); err != nil {
			w.close()
			return connect, failureOf(err, false)
		}
	}
	if err = w.prepare(); err != nil {
		w.close()
		return connect, failureOf(err, false)
	}
	return connect, nil
}

// prepare prepares what is to be, unless the driver was told to put in values itself: then it is handed them.
func (w *worker) prepare() error {
	w.prepared = make([]*sql.Stmt, len(w.fleet.program.templates))
	for place, one := range w.fleet.program.templates {
		if !one.prepared || w.fleet.opener.interpolates {
			continue
		}
		statement, err := w.connection.PrepareContext(context.Background(), one.preparable)
		if err != nil {
			return err
		}
		w.prepared[place] = statement
	}
	return nil
}

// close hangs up. A connection that is lost has nothing more to say, so errors are of no interest.
func (w *worker) close() {
	for _, statement := range w.prepared {
		if statement != nil {
			_ = statement.Close()
		}
	}
	if w.connection != nil {
		_ = w.connection.Close()
	}
	if w.pool != nil {
		_ = w.pool.Close()
	}
	w.pool, w.connection, w.prepared = nil, nil, nil
}

// work does operations until no more may be started.
func (w *worker) work() {
	for w.fleet.supply.reserve(w.numbers) {
		w.recorder.started++
		began := time.Now()
		failure := w.operation()
		if failure != nil {
			w.recorder.fail(failure)
			w.failures.Add(1)
			w.fleet.failed(failure)
			continue
		}
		w.recorder.operation.record(time.Since(began))
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
				failure := failureOf(err, false)
				if reconnect || !failure.keepsConnection() {
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
	began := time.Now()
	rows, err := w.run(place, one)
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
	if rows != nil && w.fleet.program.selects {
		w.fleet.samples.keep(one, w.values, rows)
	}
	return nil
}

// run runs a statement; the rows are null where it answers none, or none are kept.
func (w *worker) run(place int, one *template) ([][]sql.NullString, error) {
	ctx := context.Background()
	text, arguments := "", []any(nil)
	if one.prepared {
		text, arguments = one.preparable, one.bound(w.values)
	} else {
		text = one.render(w.values)
	}
	statement := w.prepared[place]
	if !one.asks {
		var err error
		if statement != nil {
			_, err = statement.ExecContext(ctx, arguments...)
		} else {
			_, err = w.connection.ExecContext(ctx, text, arguments...)
		}
		return nil, err
	}
	var rows *sql.Rows
	var err error
	if statement != nil {
		rows, err = statement.QueryContext(ctx, arguments...)
	} else {
		rows, err = w.connection.QueryContext(ctx, text, arguments...)
	}
	if err != nil {
		return nil, err
	}
	return read(rows, w.fleet.samples.wanted())
}

// read reads all rows as texts, and gives them back where they are `wanted`.
func read(rows *sql.Rows, wanted bool) ([][]sql.NullString, error) {
	defer func() { _ = rows.Close() }()
	columns, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	row, targets := make([]sql.NullString, len(columns)), make([]any, len(columns))
	for place := range row {
		targets[place] = &row[place]
	}
	var kept [][]sql.NullString
	if wanted {
		kept = [][]sql.NullString{}
	}
	for rows.Next() {
		if err := rows.Scan(targets...); err != nil {
			return nil, err
		}
		if wanted {
			kept = append(kept, slices.Clone(row))
		}
	}
	return kept, rows.Err()
}

func (w *worker) take(numbers *sequence) int64 {
	next := w.numbers[numbers]
	w.numbers[numbers] = next + 1
	return next
}
