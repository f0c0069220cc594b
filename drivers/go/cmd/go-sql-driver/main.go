// The adapter of go-sql-driver/mysql: what the program is to know of its driver.
package main

import (
	"database/sql/driver"
	"errors"

	"github.com/go-sql-driver/mysql"

	"tlstax/probes/drivers/go/adapter"
)

func main() {
	adapter.Main(&adapter.Driver{
		Module: "github.com/go-sql-driver/mysql", Configure: configure, Errors: driverErrors,
	})
}

// driverErrors: of those that refuse a setting 1064 is a word that cannot be one, 1193 unknown, 1231 wrong value,
// 1232 wrong type, 1238 read only.
var driverErrors = adapter.Errors{
	ServerCode: func(err error) int {
		var refused *mysql.MySQLError
		if errors.As(err, &refused) {
			return int(refused.Number)
		}
		return 0
	},
	Meanings: []adapter.Meaning{
		{Err: mysql.ErrNoTLS, Kind: "no_tls"},
		{Err: mysql.ErrCleartextPassword, Kind: "access_denied"},
		{Err: mysql.ErrNativePassword, Kind: "access_denied"},
		{Err: mysql.ErrOldPassword, Kind: "access_denied"},
		{Err: mysql.ErrUnknownPlugin, Kind: "access_denied"},
		{Err: mysql.ErrMalformPkt, Kind: "protocol"},
		{Err: mysql.ErrOldProtocol, Kind: "protocol"},
		{Err: mysql.ErrPktSync, Kind: "protocol"},
		{Err: mysql.ErrPktSyncMul, Kind: "protocol"},
		{Err: mysql.ErrPktTooLarge, Kind: "protocol"},
	},
	Lost:           []error{driver.ErrBadConn, mysql.ErrInvalidConn},
	SettingRefused: []any{1064, 1193, 1231, 1232, 1238},
}
