// Tests of libpq's words, and of what PostgreSQL's errors mean.
package adapter

import (
	"errors"
	"testing"
)

func TestLibpqIsToldInWords(t *testing.T) {
	database, file, version := "d", "/c a's", "1.2"
	for want, setup := range map[string]*Setup{
		`host='h' password='p' port='1' user='u'`: {
			Endpoint: Endpoint{Kind: "tcp", Host: "h", Port: 1}, TLS: TLS{Mode: "unset"},
		},
		`dbname='d' host='/run' password='p' port='5' sslmode='allow' user='u'`: {
			Endpoint: Endpoint{Kind: "unix", Path: "/run/.s.PGSQL.5"}, TLS: TLS{Mode: "off"},
			Account: Account{Database: &database}, Options: map[string]string{"sslmode": "allow"},
		},
		`host='h' password='p' port='1' ssl_max_protocol_version='TLSv1.2' sslmode='verify-ca' ` +
			`sslnegotiation='direct' sslrootcert='/c a\'s' user='u'`: {
			Endpoint: Endpoint{Kind: "tcp", Host: "h", Port: 1},
			TLS:      TLS{Mode: "on", Verify: "ca", CAFile: &file, MaxVersion: &version, Direct: true},
		},
	} {
		setup.Account.User, setup.Account.Password = "u", "p"
		if got := setup.LibpqWords(); got != want {
			t.Error(got, want)
		}
	}
}

func TestPlacesAreNumberedWhereTheDriverHasThemSo(t *testing.T) {
	call := Call{Pieces: []string{"a=", " AND b=", ""}}
	if got := call.preparable(true); got != "a=$1 AND b=$2" {
		t.Error(got)
	}
	if got := call.preparable(false); got != "a=? AND b=?" {
		t.Error(got)
	}
}

func TestAnErrorOfPostgreSQLIsToldByItsState(t *testing.T) {
	for state, kind := range map[string]string{
		"28P01": "access_denied", "53300": "limits", "57P01": "server_closed", "42P01": "server_error",
	} {
		known := &Errors{State: func(error) string { return state }}
		if got := known.failureOf(errors.New("no"), true); got.Kind != kind || got.Code != state {
			t.Error(got, kind)
		}
	}
}
