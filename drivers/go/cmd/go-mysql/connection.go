// A connection, and the statements prepared on it.
package main

import (
	"crypto/tls"
	"strings"

	"github.com/go-mysql-org/go-mysql/client"
	"github.com/go-mysql-org/go-mysql/mysql"

	"tlstax/probes/drivers/go/adapter"
)

type connection struct{ conn *client.Conn }

func (c connection) Run(sql string, want adapter.Want) ([][]*string, error) {
	result, err := c.conn.Execute(sql)
	return read(result, err, want)
}

func (c connection) Prepare(sql string) (adapter.Prepared, error) {
	statement, err := c.conn.Prepare(sql)
	return prepared{statement}, err
}

// TLS looks at what the driver's connection is over.
func (c connection) TLS() (*tls.ConnectionState, bool) {
	encrypted, is := c.conn.Conn.Conn.(*tls.Conn)
	if !is {
		return nil, true
	}
	state := encrypted.ConnectionState()
	return &state, true
}

// Close hangs up as the driver does by itself: without COM_QUIT, for which there is another call.
func (c connection) Close() { _ = c.conn.Close() }

type prepared struct{ statement *client.Stmt }

func (p prepared) Run(values []any, want adapter.Want) ([][]*string, error) {
	result, err := p.statement.Execute(values...)
	return read(result, err, want)
}

// read takes from a result what is to be kept, and gives it back to the driver's pool.
func read(result *mysql.Result, err error, want adapter.Want) ([][]*string, error) {
	if err != nil {
		return nil, err
	}
	defer result.Close()
	if want != adapter.KeepRows {
		return nil, nil
	}
	return texts(result)
}

// texts are all values as strings, nil for NULL. They are copies: the driver uses a result's memory again.
func texts(result *mysql.Result) ([][]*string, error) {
	var rows [][]*string
	for place := range result.Values {
		row := make([]*string, len(result.Fields))
		for column := range row {
			if result.Values[place][column].Value() == nil {
				continue
			}
			text, err := result.GetString(place, column)
			if err != nil {
				return nil, err
			}
			text = strings.Clone(text)
			row[column] = &text
		}
		rows = append(rows, row)
	}
	return rows, nil
}
