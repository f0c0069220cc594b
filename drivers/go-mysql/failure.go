// What went wrong, by the contract's kinds, in the driver's own words.
package main

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"syscall"

	"github.com/go-mysql-org/go-mysql/mysql"
)

type failure struct {
	kind    string
	code    int
	message string
}

var faults = map[string]string{
	"bad_job": "job", "limits": "client", "internal": "client", "resolve": "network", "connect": "network",
	"timeout": "network",
}

// loginRefused are the server's errors to a login (MySQL reference manual, "Server Error Message Reference"):
// no right to the schema, wrong password, host not allowed, a way of logging in that the client has not, no
// password, expired password, locked account.
var loginRefused = []int{1044, 1045, 1130, 1251, 1698, 1820, 1862, 2059, 3118}

// said are words of the driver's errors that have neither a type nor a value of their own.
var said = []struct{ words, kind string }{
	{"does not support TLS", "no_tls"},
	{"auth plugin", "access_denied"},
	{"invalid collation name", "bad_job"},
	{"invalid protocol version", "protocol"},
	{"invalid sequence", "protocol"},
	{"tls: ", "tls_handshake"},
}

func badJob(format string, values ...any) *failure {
	return &failure{kind: "bad_job", message: fmt.Sprintf(format, values...)}
}

func (f *failure) event(fatal bool) event {
	fault, known := faults[f.kind]
	if !known {
		fault = "server"
	}
	return event{
		"event": "error", "kind": f.kind, "fault": fault, "fatal": fatal, "message": f.message,
		"code": codeOf(f.code), "count": 1,
	}
}

func codeOf(number int) any {
	if number == 0 {
		return nil
	}
	return number
}

// failureOf says what an error of the driver means, while a connection is `opening` or at work.
func failureOf(err error, opening bool) *failure {
	kind, code := classify(err, opening)
	words := strings.Join(strings.Fields(err.Error()), " ")
	return &failure{kind: kind, code: code, message: clientName + " says: " + words}
}

func classify(err error, opening bool) (string, int) {
	var refused *mysql.MyError
	if errors.As(err, &refused) {
		code := int(refused.Code)
		if opening && slices.Contains(loginRefused, code) {
			return "access_denied", code
		}
		return "server_error", code
	}
	var untrusted *tls.CertificateVerificationError
	var authority x509.UnknownAuthorityError
	if errors.As(err, &untrusted) || errors.As(err, &authority) {
		return "certificate", 0
	}
	for _, one := range said {
		if strings.Contains(err.Error(), one.words) {
			return inOpening(one.kind, opening), 0
		}
	}
	if errors.Is(err, mysql.ErrMalformPacket) {
		return inOpening("protocol", opening), 0
	}
	return networkKind(err)
}

// inOpening is not_mysql where a server broke the protocol before it was known to speak it.
func inOpening(kind string, opening bool) string {
	if kind == "protocol" && opening {
		return "not_mysql"
	}
	return kind
}

// networkKind tells what became of the connection below MySQL and TLS.
func networkKind(err error) (string, int) {
	var name *net.DNSError
	var number syscall.Errno
	var network net.Error
	var operation *net.OpError
	errors.As(err, &number)
	short := []syscall.Errno{syscall.EMFILE, syscall.ENFILE, syscall.EADDRNOTAVAIL, syscall.ENOMEM}
	switch {
	case errors.As(err, &name):
		return "resolve", 0
	case slices.Contains(short, number):
		return "limits", int(number)
	case errors.As(err, &network) && network.Timeout():
		return "timeout", int(number)
	case errors.As(err, &operation) && operation.Op == "dial":
		return "connect", int(number)
	case errors.Is(err, mysql.ErrBadConn), number == syscall.ECONNRESET, number == syscall.EPIPE:
		return "server_closed", int(number)
	}
	return "internal", int(number)
}
