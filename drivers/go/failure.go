// What went wrong, by the contract's kinds, in the driver's own words.
package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"syscall"

	"github.com/go-sql-driver/mysql"
)

// Failure is one thing that went wrong.
type Failure struct {
	kind    string
	code    int
	message string
}

// faults says where to look for each kind that this program uses.
var faults = map[string]string{
	"bad_job": "job", "resolve": "network", "connect": "network", "timeout": "network",
	"not_mysql": "server", "server_closed": "server", "server_error": "server", "access_denied": "server",
	"no_tls": "server", "tls_handshake": "server", "certificate": "server", "protocol": "server",
	"limits": "client", "internal": "client",
}

// loginRefused are the server's errors to a login: 1044 no right to the schema, 1045 wrong password, 1130
// host not allowed, 1251 and 2059 a way of logging in that the client has not, 1698 no password, 1820 and 1862
// expired password, 3118 account locked (MySQL reference manual, "Server Error Message Reference").
var loginRefused = []int{1044, 1045, 1130, 1251, 1698, 1820, 1862, 2059, 3118}

// settingRefused are the server's answers to an option that go-sql-driver/mysql takes for a system variable:
// 1193 unknown, 1231 wrong value, 1232 wrong type, 1238 read only.
var settingRefused = []int{1193, 1231, 1232, 1238}

var withoutLogin = []error{
	mysql.ErrCleartextPassword, mysql.ErrNativePassword, mysql.ErrOldPassword, mysql.ErrUnknownPlugin,
}

var brokenProtocol = []error{
	mysql.ErrMalformPkt, mysql.ErrOldProtocol, mysql.ErrPktSync, mysql.ErrPktSyncMul, mysql.ErrPktTooLarge,
}

func badJob(format string, values ...any) *Failure {
	return &Failure{kind: "bad_job", message: fmt.Sprintf(format, values...)}
}

func (f *Failure) event() ErrorEvent {
	return ErrorEvent{
		Event: "error", Kind: f.kind, Fault: faults[f.kind], Fatal: true, Message: f.message,
		Code: f.codeOrNil(), Count: 1,
	}
}

func (f *Failure) codeOrNil() *int {
	if f.code == 0 {
		return nil
	}
	return &f.code
}

// keepsConnection is whether the server answered, so that the connection is as good as before.
func (f *Failure) keepsConnection() bool {
	return f.kind == "server_error" || f.kind == "access_denied"
}

// failureOf says what an error of the driver means while a connection is `opening` or at work.
func failureOf(err error, opening bool) *Failure {
	kind, code := classify(err, opening)
	words := strings.Join(strings.Fields(err.Error()), " ")
	return &Failure{kind: kind, code: code, message: clientName + " says: " + words}
}

func classify(err error, opening bool) (string, int) {
	var refused *mysql.MySQLError
	if errors.As(err, &refused) {
		code := int(refused.Number)
		if opening && slices.Contains(loginRefused, code) {
			return "access_denied", code
		}
		return "server_error", code
	}
	is := func(known error) bool { return errors.Is(err, known) }
	switch {
	case is(mysql.ErrNoTLS):
		return "no_tls", 0
	case slices.ContainsFunc(withoutLogin, is):
		return "access_denied", 0
	case slices.ContainsFunc(brokenProtocol, is):
		return brokenKind(opening), 0
	}
	if kind := tlsKind(err); kind != "" {
		return kind, 0
	}
	return networkKind(err)
}

func brokenKind(opening bool) string {
	if opening {
		return "not_mysql"
	}
	return "protocol"
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
func networkKind(err error) (string, int) {
	var name *net.DNSError
	var number syscall.Errno
	var network net.Error
	errors.As(err, &number)
	var dialling *net.OpError
	switch {
	case errors.As(err, &name):
		return "resolve", 0
	case number == syscall.EMFILE, number == syscall.ENFILE, number == syscall.EADDRNOTAVAIL,
		number == syscall.ENOMEM:
		return "limits", int(number)
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded),
		errors.As(err, &network) && network.Timeout():
		return "timeout", int(number)
	case errors.As(err, &dialling) && dialling.Op == "dial":
		return "connect", int(number)
	case errors.Is(err, driver.ErrBadConn), errors.Is(err, mysql.ErrInvalidConn), errors.Is(err, io.EOF),
		errors.Is(err, io.ErrUnexpectedEOF), number == syscall.ECONNRESET, number == syscall.EPIPE:
		return "server_closed", int(number)
	}
	return "internal", 0
}
