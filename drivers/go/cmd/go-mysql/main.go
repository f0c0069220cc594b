// The adapter of go-mysql-org/go-mysql/client: what the program is to know of its driver.
package main

import (
	"errors"

	"github.com/go-mysql-org/go-mysql/mysql"

	"tlstax/probes/drivers/go/adapter"
)

func main() {
	adapter.Main(&adapter.Driver{
		Module: "github.com/go-mysql-org/go-mysql", Configure: configure, Errors: driverErrors,
	})
}

var driverErrors = adapter.Errors{
	ServerCode: func(err error) int {
		var refused *mysql.MyError
		if errors.As(err, &refused) {
			return int(refused.Code)
		}
		return 0
	},
	Meanings: []adapter.Meaning{
		{Words: "does not support TLS", Kind: "no_tls"},
		{Words: "auth plugin", Kind: "access_denied"},
		{Words: "invalid collation name", Kind: "bad_job"},
		{Words: "invalid protocol version", Kind: "protocol"},
		{Words: "invalid sequence", Kind: "protocol"},
		{Err: mysql.ErrMalformPacket, Kind: "protocol"},
	},
	Lost: []error{mysql.ErrBadConn},
}
