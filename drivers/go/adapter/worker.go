// One channel: its orders, the operations that it has in stock, and the connection that they are done on.
package adapter

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
)

const (
	betweenOperations = "\x1e"
	betweenFields     = "\x1f"
)

// worker serves a channel. `times` are those of the operations since the last report, of each 4 and one for each
// call.
type worker struct {
	setup      *Setup
	errors     *Errors
	version    string
	numbered   bool
	connect    Opener
	in         *bufio.Reader
	out        *os.File
	connection Connection
	prepared   []Prepared
	stock      []string
	values     []any
	times      []int64
	opened     int
}

// serve does the channel's orders until it is closed.
func (w *worker) serve() {
	for {
		line, err := w.in.ReadString('\n')
		if err != nil {
			return
		}
		words := strings.Fields(line)
		body, err := w.body(words)
		if err != nil {
			return
		}
		answered, failure := w.order(words, body)
		if failure != nil {
			answered = failed(failure)
		}
		if _, err = w.out.Write(answered); err != nil {
			return
		}
	}
}

// body is what stands behind those orders that end in its length.
func (w *worker) body(words []string) (string, error) {
	if words[0] != "rows" && words[0] != "operations" {
		return "", nil
	}
	length, err := strconv.Atoi(words[len(words)-1])
	if err != nil {
		return "", err
	}
	body := make([]byte, length)
	_, err = io.ReadFull(w.in, body)
	return string(body), err
}

func (w *worker) order(words []string, body string) ([]byte, *Failure) {
	switch words[0] {
	case "open":
		return w.opening()
	case "rows":
		return w.rows(words[1], body)
	case "operations":
		if words[1] != "0" {
			w.stock = append(w.stock, strings.Split(body, betweenOperations)...)
		}
	case "empty":
		w.stock = nil
	case "work":
		return w.work(words[1])
	case "report":
		return w.report(), nil
	case "close":
		w.close()
	default:
		return nil, internal("there is no order " + words[0])
	}
	return []byte("{}\n"), nil
}

func (w *worker) opening() ([]byte, *Failure) {
	if failure := w.open(); failure != nil {
		return nil, failure
	}
	told := map[string]any{"version": w.version}
	if state, tells := w.connection.TLS(); tells {
		told["view"] = viewOf(state)
	}
	return answer(told), nil
}

func (w *worker) open() *Failure {
	failure := w.connected()
	if failure == nil {
		failure = w.made()
	}
	return failure
}

// connected opens the connection. Where the driver takes an option that it does not know for a setting of the
// server's, it is the server who refuses it.
func (w *worker) connected() *Failure {
	connection, err := w.connect()
	if err != nil {
		return w.errors.openingFailure(err, len(w.setup.Options) > 0)
	}
	w.connection = connection
	w.opened++
	return nil
}

// made says on a new connection what is said on connecting, and prepares what is to be.
func (w *worker) made() *Failure {
	for _, statement := range w.setup.OnConnect {
		if _, err := w.connection.Run(statement, NoRows); err != nil {
			return w.lost(err)
		}
	}
	w.prepared = make([]Prepared, len(w.setup.Calls))
	for place := range w.setup.Calls {
		if call := &w.setup.Calls[place]; call.Prepared {
			statement, err := w.connection.Prepare(call.preparable(w.numbered))
			if err != nil {
				return w.lost(err)
			}
			w.prepared[place] = statement
		}
	}
	return nil
}

// lost gives the connection up, whatever the failure is.
func (w *worker) lost(err error) *Failure {
	w.close()
	return w.errors.failureOf(err, false)
}

func (w *worker) close() {
	if w.connection != nil {
		w.connection.Close()
	}
	w.connection, w.prepared = nil, nil
}

// rows runs a call, or with -1 a statement by itself, for its rows.
func (w *worker) rows(number, body string) ([]byte, *Failure) {
	place, err := strconv.Atoi(number)
	if err != nil || place >= len(w.setup.Calls) || w.connection == nil {
		return nil, internal("there is no call " + number + ", or no connection")
	}
	var rows [][]*string
	if place >= 0 && w.setup.Calls[place].Prepared {
		w.values = w.values[:0]
		w.bind(&w.setup.Calls[place], body)
		rows, err = w.prepared[place].Run(w.values, KeepRows)
	} else {
		rows, err = w.connection.Run(body, KeepRows)
	}
	if err != nil {
		failure := w.errors.failureOf(err, false)
		if failure.Kind != "server_error" {
			w.close()
		}
		return nil, failure
	}
	return answer(map[string][][]*string{"rows": append([][]*string{}, rows...)}), nil
}

// work does operations of the stock, each begun before the clock shows `until`.
func (w *worker) work(until string) ([]byte, *Failure) {
	end, err := strconv.ParseInt(until, 10, 64)
	if err != nil {
		return nil, internal(until + " is no time")
	}
	finished := 0
	for len(w.stock) > 0 {
		w.take(w.stock[0])
		began := now()
		if began >= end {
			break
		}
		w.stock = w.stock[1:]
		kept := len(w.times)
		w.times = append(w.times, began)
		if failure := w.operation(); failure != nil {
			w.times = w.times[:kept]
			return nil, failure
		}
		finished++
	}
	return fmt.Appendf(nil, "{\"operations\": %d}\n", finished), nil
}

// take lays an operation's values ready: the statement of a text call, each value of a prepared one.
func (w *worker) take(operation string) {
	w.values = w.values[:0]
	for place := range w.setup.Calls {
		if call := &w.setup.Calls[place]; call.Prepared {
			operation = w.bind(call, operation)
		} else {
			var statement string
			statement, operation, _ = strings.Cut(operation, betweenFields)
			w.values = append(w.values, statement)
		}
	}
}

// bind lays ready the values of a prepared call, and gives back the fields behind them.
func (w *worker) bind(call *Call, fields string) string {
	for place := range call.Types {
		var text string
		text, fields, _ = strings.Cut(fields, betweenFields)
		if call.Types[place] == 'i' {
			number, _ := strconv.ParseInt(text, 10, 64)
			w.values = append(w.values, number)
		} else {
			w.values = append(w.values, text)
		}
	}
	return fields
}

// operation does what was taken, and writes down when each part of it was over. With reconnect it opens and
// closes a connection for it. One that the server refused leaves a kept connection as good as before.
func (w *worker) operation() *Failure {
	began := w.times[len(w.times)-1]
	connected, ready := began, began
	if w.connection == nil {
		if failure := w.connected(); failure != nil {
			return failure
		}
		connected = now()
		if failure := w.made(); failure != nil {
			return failure
		}
		ready = now()
	}
	w.times = append(w.times, connected, ready)
	if err := w.calls(); err != nil {
		failure := w.errors.failureOf(err, false)
		if w.setup.Reconnect || failure.Kind != "server_error" {
			w.close()
		}
		return failure
	}
	closed := w.times[len(w.times)-1]
	if w.setup.Reconnect {
		w.close()
		closed = now()
	}
	w.times = append(w.times, closed)
	return nil
}

func (w *worker) calls() (err error) {
	values := w.values
	for place := range w.setup.Calls {
		call := &w.setup.Calls[place]
		if call.Prepared {
			_, err = w.prepared[place].Run(values[:len(call.Types)], call.want())
			values = values[len(call.Types):]
		} else {
			_, err = w.connection.Run(values[0].(string), call.want())
			values = values[1:]
		}
		if err != nil {
			return err
		}
		w.times = append(w.times, now())
	}
	return nil
}

// report hands over the times, and forgets them.
func (w *worker) report() []byte {
	body := make([]byte, 0, 16*len(w.times))
	for _, ns := range w.times {
		body = append(strconv.AppendInt(body, ns, 10), ' ')
	}
	w.times = w.times[:0]
	return append(fmt.Appendf(nil, "{\"opened\": %d, \"bytes\": %d}\n", w.opened, len(body)), body...)
}
