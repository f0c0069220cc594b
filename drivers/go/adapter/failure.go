// What went wrong, by the contract's kinds, in the driver's own words.
package adapter

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"syscall"
)

// Failure is one thing that went wrong, as an answer has it. By says whose the words are.
type Failure struct {
	Kind  string `json:"kind"`
	Words string `json:"words"`
	Code  any    `json:"code"`
	By    string `json:"by"`
}

func (f *Failure) Error() string { return f.Words }

// BadJob is what cannot be done, in one sentence of this program's own.
func BadJob(format string, values ...any) *Failure {
	return &Failure{Kind: "bad_job", Words: fmt.Sprintf(format, values...), By: "adapter"}
}

// internal is an order that cannot be.
func internal(words string) *Failure { return &Failure{Kind: "internal", Words: words, By: "adapter"} }

// failed is the answer that tells it.
func failed(failure *Failure) []byte { return answer(map[string]*Failure{"failure": failure}) }

// loginRefused are the server's errors to a login: 1044 no right to the schema, 1045 wrong password, 1130
// host not allowed, 1251 and 2059 a way of logging in that the client has not, 1698 no password, 1820 and 1862
// expired password, 3118 account locked (MySQL reference manual, "Server Error Message Reference").
var loginRefused = []int{1044, 1045, 1130, 1251, 1698, 1820, 1862, 2059, 3118}

// machineLimits are what the kernel says where it has no more to give.
var machineLimits = []syscall.Errno{syscall.EMFILE, syscall.ENFILE, syscall.EADDRNOTAVAIL, syscall.ENOMEM}

// refusal is what became of telling the driver what the setup says.
func refusal(err error) *Failure {
	var own *Failure
	if errors.As(err, &own) {
		return own
	}
	return &Failure{Kind: "bad_job", Words: err.Error(), By: "driver"}
}

// failureOf says what an error of the driver means while a connection is `opening` or at work.
func (e *Errors) failureOf(err error, opening bool) *Failure {
	if e.State != nil {
		if state := e.State(err); state != "" {
			return &Failure{Kind: kindOfState(state), Words: err.Error(), Code: state, By: "driver"}
		}
	}
	kind, code := e.classify(err, opening)
	failure := &Failure{Kind: kind, Words: err.Error(), By: "driver"}
	if code != 0 {
		failure.Code = code
	}
	return failure
}

// openingFailure is what it means that a connection cannot be opened. Where the driver takes an option that it
// does not know for a setting of the server's, it is the server who refuses it.
func (e *Errors) openingFailure(err error, options bool) *Failure {
	failure := e.failureOf(err, true)
	if options && failure.Code != nil && slices.Contains(e.SettingRefused, failure.Code) {
		failure.Kind = "bad_job"
	}
	return failure
}

// kindOfState goes by a SQLSTATE's class, or by itself (PostgreSQL's documentation, "Error Codes").
func kindOfState(state string) string {
	switch {
	case strings.HasPrefix(state, "28"):
		return "access_denied"
	case state == "53300":
		return "limits"
	case slices.Contains([]string{"57P01", "57P02", "57P03"}, state):
		return "server_closed"
	}
	return "server_error"
}

func (e *Errors) classify(err error, opening bool) (string, int) {
	if code := e.serverCode(err); code != 0 {
		if opening && slices.Contains(loginRefused, code) {
			return "access_denied", code
		}
		return "server_error", code
	}
	for _, known := range e.Meanings {
		if !known.is(err) {
			continue
		}
		if known.Kind == "protocol" && opening {
			return "not_mysql", 0
		}
		return known.Kind, 0
	}
	if kind := tlsKind(err); kind != "" {
		return kind, 0
	}
	return e.networkKind(err)
}

func (e *Errors) serverCode(err error) int {
	if e.ServerCode == nil {
		return 0
	}
	return e.ServerCode(err)
}

func (m *Meaning) is(err error) bool {
	if m.Err != nil {
		return errors.Is(err, m.Err)
	}
	return strings.Contains(err.Error(), m.Words)
}

// tlsKind is certificate or tls_handshake, or empty where the error is none of TLS.
func tlsKind(err error) string {
	var untrusted *tls.CertificateVerificationError
	var authority x509.UnknownAuthorityError
	var host x509.HostnameError
	var invalid x509.CertificateInvalidError
	var record tls.RecordHeaderError
	var alert tls.AlertError
	switch {
	case errors.As(err, &untrusted), errors.As(err, &authority), errors.As(err, &host),
		errors.As(err, &invalid):
		return "certificate"
	case errors.As(err, &record), errors.As(err, &alert), strings.Contains(err.Error(), "tls: "):
		return "tls_handshake"
	}
	return ""
}

// networkKind tells what became of the connection below MySQL and TLS.
func (e *Errors) networkKind(err error) (string, int) {
	var name *net.DNSError
	var number syscall.Errno
	var network net.Error
	var operation *net.OpError
	errors.As(err, &number)
	switch {
	case errors.As(err, &name):
		return "resolve", 0
	case slices.Contains(machineLimits, number):
		return "limits", int(number)
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded),
		errors.As(err, &network) && network.Timeout():
		return "timeout", int(number)
	case errors.As(err, &operation) && operation.Op == "dial":
		return "connect", int(number)
	case slices.ContainsFunc(e.Lost, func(lost error) bool { return errors.Is(err, lost) }),
		errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF),
		number == syscall.ECONNRESET, number == syscall.EPIPE:
		return "server_closed", int(number)
	}
	return "internal", int(number)
}
