// Tests of what errors mean: of the driver's own, of TLS, and of the kernel.
package adapter

import (
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"
	"testing"
)

func TestErrorsHaveTheContractsKinds(t *testing.T) {
	number, lost, broken := errors.New("refused"), errors.New("bad connection"), errors.New("malformed")
	known := Errors{
		ServerCode: func(err error) int {
			if errors.Is(err, number) {
				return 1045
			}
			return 0
		},
		Meanings: []Meaning{{Err: broken, Kind: "protocol"}, {Words: "auth plugin", Kind: "access_denied"}},
		Lost:     []error{lost},
	}
	dial := &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
	for _, one := range []struct {
		err     error
		opening bool
		kind    string
		code    int
	}{
		{number, true, "access_denied", 1045},
		{number, false, "server_error", 1045},
		{broken, true, "not_mysql", 0},
		{broken, false, "protocol", 0},
		{errors.New("auth plugin 'x' is unknown"), true, "access_denied", 0},
		{fmt.Errorf("%w: tls: handshake failure", lost), true, "tls_handshake", 0},
		{lost, false, "server_closed", 0},
		{io.EOF, false, "server_closed", 0},
		{dial, true, "connect", int(syscall.ECONNREFUSED)},
		{syscall.EMFILE, true, "limits", int(syscall.EMFILE)},
		{&net.DNSError{}, true, "resolve", 0},
		{errors.New("something else"), false, "internal", 0},
	} {
		if kind, code := known.classify(one.err, one.opening); kind != one.kind || code != one.code {
			t.Error(one.err, kind, code)
		}
	}
}

func TestWhoseWordsAFailureHasIsKnown(t *testing.T) {
	if got := refusal(errors.New("no such option")); got.Kind != "bad_job" || got.By != "driver" {
		t.Error(got)
	}
	if own := BadJob("not so"); refusal(own) != own || own.By != "adapter" {
		t.Error("a failure of the program's own was put into the driver's mouth")
	}
}
