// Tests of a whole job with a driver that answers by itself: what is counted, kept and told of it.
package program

import (
	"crypto/tls"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// fakeServer counts what it is asked, and refuses each statement that has `refused` in it.
type fakeServer struct{ asked, opened, closed atomic.Int64 }

var errRefused = errors.New("no such table")

func (s *fakeServer) Run(sql string, want Want) ([][]*string, error) {
	answer := "1"
	switch {
	case strings.Contains(sql, "refused"):
		return nil, errRefused
	case strings.HasPrefix(sql, "SHOW"):
		return nil, nil
	}
	s.asked.Add(1)
	if want != KeepRows {
		return nil, nil
	}
	return [][]*string{{&answer, nil}}, nil
}

func (s *fakeServer) Prepare(sql string) (Prepared, error)          { return fakePrepared{s, sql}, nil }
func (s *fakeServer) TLS() (state *tls.ConnectionState, tells bool) { return nil, true }
func (s *fakeServer) Close()                                        { s.closed.Add(1) }

type fakePrepared struct {
	server *fakeServer
	sql    string
}

func (p fakePrepared) Run(values []any, want Want) ([][]*string, error) {
	return p.server.Run(fmt.Sprint(p.sql, values), want)
}

func fakeFleet(t *testing.T, server *fakeServer, change string) *fleet {
	t.Helper()
	driver := &Driver{
		Product: "fake",
		Configure: func(string, *Job) (Opener, error) {
			return func() (Connection, error) { server.opened.Add(1); return server, nil }, nil
		},
		Errors: Errors{ServerCode: func(err error) int {
			if errors.Is(err, errRefused) {
				return 1146
			}
			return 0
		}},
	}
	client := &client{name: "fake-1.0", driver: driver}
	before, after, _ := strings.Cut(change, "|")
	job, failure := client.readJob([]byte(strings.Replace(plainJob, before, after, 1)))
	if failure != nil {
		t.Fatal(failure)
	}
	made, failure := newFleet(client, job)
	if failure != nil {
		t.Fatal(failure)
	}
	negotiated, failure := made.open()
	if failure != nil || len(negotiated) != 1 || negotiated[0].Connections != 2 || made.version != "1" {
		t.Fatal(negotiated, made.version, failure)
	}
	return made
}

// measured is the result of one slice that is long enough for all operations.
func measured(fleet *fleet) Done {
	window := fleet.openWindow()
	window.slice(time.Minute)
	return window.done()
}

func TestAJobIsDoneByKeptConnections(t *testing.T) {
	for _, protocol := range []string{"text", "prepared"} {
		server := &fakeServer{}
		fleet := fakeFleet(t, server, `"workload":{|"operations":500,"workload":{"protocol":"`+protocol+`",`)
		fleet.warmUp()
		before := server.asked.Load()
		done := measured(fleet)
		fleet.close()
		if done.Operations != 500 || done.Scheduled != 500 || server.asked.Load()-before != 500 {
			t.Error(protocol, done, server.asked.Load()-before)
		}
		if done.Window.Connections != 0 || done.Lifetime.Connections != 2 || server.closed.Load() != 2 {
			t.Error(protocol, done.Window, done.Lifetime)
		}
		if len(done.RowSamples) != 16 || done.RowSamples[0].SQL != "SELECT 1" || len(done.RowSamples[0].Rows[0]) != 2 {
			t.Error(protocol, done.RowSamples)
		}
		if done.HistogramsNs["query"] == "" || done.HistogramsNs["connect"] != "" || len(done.Errors) != 0 {
			t.Error(protocol, done)
		}
	}
}

func TestAReconnectingJobOpensAndClosesForEachOperation(t *testing.T) {
	server := &fakeServer{}
	fleet := fakeFleet(t, server, `"workload":{|"warmup_s":0,"operations":50,"workload":{"reconnect":true,`)
	done := measured(fleet)
	if done.Window.Connections != 50 || server.opened.Load() != 52 || server.closed.Load() != 52 {
		t.Error(done.Window, server.opened.Load(), server.closed.Load())
	}
	for _, phase := range []string{"connect", "first_query", "close", "operation"} {
		if done.HistogramsNs[phase] == "" {
			t.Error(phase)
		}
	}
}

func TestWhatTheServerRefusesIsCountedAndTheConnectionKept(t *testing.T) {
	server := &fakeServer{}
	fleet := fakeFleet(t, server, `{"sql":"SELECT 1"}|{"sql":"SELECT 1"},{"sql":"SELECT refused"}`)
	operations := int64(failuresInARow - 1)
	fleet.job.Operations = &operations
	done := measured(fleet)
	if done.Operations != 0 || len(done.Errors) != 1 || done.Errors[0].Count != operations || server.closed.Load() != 0 {
		t.Error(done, server.closed.Load())
	}
}
