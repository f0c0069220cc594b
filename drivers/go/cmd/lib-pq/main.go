// The adapter of lib/pq, by database/sql: what the program is to know of its driver.
package main

import (
	"database/sql/driver"
	"errors"

	"github.com/lib/pq"

	"tlstax/probes/drivers/go/adapter"
	"tlstax/probes/drivers/go/stdsql"
)

func main() {
	adapter.Main(&adapter.Driver{
		Module: "github.com/lib/pq", Configure: configure, Errors: driverErrors, Numbered: true,
	})
}

func configure(setup *adapter.Setup) (adapter.Opener, error) {
	if setup.TLS.ServerName != nil && *setup.TLS.ServerName != setup.Endpoint.Host {
		return nil, adapter.BadJob("tls.server_name: lib/pq verifies the host that it connects to, and no other")
	}
	connector, err := pq.NewConnector(setup.LibpqWords())
	if err != nil {
		return nil, err
	}
	return (&stdsql.Opener{Connector: connector}).Open, nil
}

// driverErrors: 42704 is a parameter that the server does not know either.
var driverErrors = adapter.Errors{
	State: func(err error) string {
		var refused *pq.Error
		if errors.As(err, &refused) {
			return string(refused.Code)
		}
		return ""
	},
	Meanings:       []adapter.Meaning{{Err: pq.ErrSSLNotSupported, Kind: "no_tls"}},
	Lost:           []error{driver.ErrBadConn},
	SettingRefused: []any{"42704"},
}
