// Tests of a channel's orders, with a driver that writes down what it is told.
package adapter

import (
	"bufio"
	"crypto/tls"
	"errors"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"
)

type fakeDriver struct{ said []string }

var errRefused = errors.New("no")

func (f *fakeDriver) run(words string) ([][]*string, error) {
	f.said = append(f.said, words)
	if strings.Contains(words, "bad") {
		return nil, errRefused
	}
	one := "1"
	return [][]*string{{&one, nil}}, nil
}

func (f *fakeDriver) Run(sql string, _ Want) ([][]*string, error) { return f.run(sql) }
func (f *fakeDriver) Prepare(sql string) (Prepared, error)        { return fakePrepared{f, sql}, nil }
func (f *fakeDriver) TLS() (*tls.ConnectionState, bool)           { return nil, true }
func (f *fakeDriver) Close()                                      { f.said = append(f.said, "close") }

type fakePrepared struct {
	driver *fakeDriver
	sql    string
}

func (p fakePrepared) Run(values []any, _ Want) ([][]*string, error) {
	return p.driver.run(fmt.Sprint(p.sql, " ", values))
}

// served gives orders to a channel, and answers what it answers: a line, and what stands behind a report's.
func served(t *testing.T, setup *Setup) (func(order string) string, *fakeDriver) {
	t.Helper()
	theirs, orders, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	answers, output, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	driver := &fakeDriver{}
	known := &Errors{ServerCode: func(err error) int {
		if errors.Is(err, errRefused) {
			return 1054
		}
		return 0
	}}
	opening := func() (Connection, error) { driver.said = append(driver.said, "open"); return driver, nil }
	served := &worker{
		setup: setup, errors: known, version: "1", connect: opening, in: bufio.NewReader(theirs), out: output,
	}
	go served.serve()
	t.Cleanup(func() { _ = orders.Close() })
	lines := bufio.NewReader(answers)
	return func(order string) string {
		_, _ = orders.WriteString(order)
		line, _ := lines.ReadString('\n')
		rest := make([]byte, lines.Buffered())
		_, _ = lines.Read(rest)
		return line + string(rest)
	}, driver
}

func operations(all ...string) string {
	body := strings.Join(all, betweenOperations)
	return fmt.Sprintf("operations %d %d\n%s", len(all), len(body), body)
}

var (
	text     = Call{Pieces: []string{"SELECT ", ""}, Types: "i", Reads: true}
	bound    = Call{Pieces: []string{"SELECT ", ", ", ""}, Types: "is", Prepared: true, Reads: true}
	forever  = fmt.Sprintf("work %d\n", math.MaxInt64)
	finished = "{\"operations\": %d}\n"
)

func TestOperationsAreDoneAsTheyWereHandedOver(t *testing.T) {
	order, driver := served(t, &Setup{OnConnect: []string{"SET x"}, Calls: []Call{text, bound}})
	if got := order("open\n"); got != "{\"version\":\"1\",\"view\":null}\n" {
		t.Error(got)
	}
	order(operations("SELECT 7\x1f5\x1fit's", "SELECT 8\x1f6\x1f"))
	if got := order("work 1\n"); got != fmt.Sprintf(finished, 0) {
		t.Error(got)
	}
	if got := order(forever); got != fmt.Sprintf(finished, 2) {
		t.Error(got)
	}
	want := "open, SET x, SELECT 7, SELECT ?, ? [5 it's], SELECT 8, SELECT ?, ? [6 ]"
	if got := strings.Join(driver.said, ", "); got != want {
		t.Error(got)
	}
	head, body, _ := strings.Cut(order("report\n"), "\n")
	if head != fmt.Sprintf("{\"opened\": 1, \"bytes\": %d}", len(body)) || len(strings.Fields(body)) != 12 {
		t.Error(head, body)
	}
	if got := order("report\n"); got != "{\"opened\": 1, \"bytes\": 0}\n" {
		t.Error(got)
	}
}

func TestWithReconnectEachOperationHasAConnection(t *testing.T) {
	order, driver := served(t, &Setup{Reconnect: true, Calls: []Call{text}})
	order(operations("SELECT 1", "SELECT 2"))
	order(forever)
	if got := strings.Join(driver.said, ", "); got != "open, SELECT 1, close, open, SELECT 2, close" {
		t.Error(got)
	}
}

func TestAnOperationThatFailsLeavesNoTimesAndIsNotSaidAgain(t *testing.T) {
	order, _ := served(t, &Setup{Calls: []Call{text}})
	order(operations("SELECT bad", "SELECT 2"))
	if got := order(forever); !strings.Contains(got, "\"kind\":\"server_error\",\"words\":\"no\",\"code\":1054") {
		t.Error(got)
	}
	if got := order(forever); got != fmt.Sprintf(finished, 1) {
		t.Error(got)
	}
	if _, body, _ := strings.Cut(order("report\n"), "\n"); len(strings.Fields(body)) != 5 {
		t.Error(body)
	}
}

func TestAStockThatIsEmptiedIsNotWorked(t *testing.T) {
	order, _ := served(t, &Setup{Calls: []Call{text}})
	order(operations("SELECT 1"))
	order("empty\n")
	order("operations 0 0\n")
	if got := order(forever); got != fmt.Sprintf(finished, 0) {
		t.Error(got)
	}
}

func TestTheClockIsTheHosts(t *testing.T) {
	_, kernel := bothClocks()
	if apart := now() - kernel; apart < 0 || apart > 1e9 {
		t.Error(apart)
	}
}
