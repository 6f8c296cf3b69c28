// Package doors drives Signalbox's and etcd's HTTP APIs: the same program, with each product's routes. Every caller has
// a separate kept-alive connection and a separate session (or lease).
package doors

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"

	"github.com/signalbox/signalbox/bench/internal/load"
	"github.com/signalbox/signalbox/loadgen/report"
)

// Workloads of this package.
const (
	Lock = "http-lock"
	Echo = "http-echo" // a route that needs no host
)

// Drive runs a plan's callers against the first endpoint, with the given ways.
func Drive(ctx context.Context, endpoints []string, plan load.Plan, ways map[string]Way) (*report.Report, error) {
	prepare, ok := ways[plan.Workload]
	if !ok {
		return nil, fmt.Errorf("there is no workload %q over HTTP", plan.Workload)
	}
	operations, err := load.Prepare(plan.Callers, func(i int) (load.Operation, error) {
		d, err := open(ctx, endpoints[0])
		if err != nil {
			return nil, err
		}
		operation, err := prepare(ctx, d, i)
		if err != nil {
			return nil, err
		}
		return operation, operation(ctx)
	})
	if err != nil {
		return nil, err
	}
	return load.Loop(ctx, plan, operations)
}

// Way prepares one caller's operation.
type Way func(ctx context.Context, d *Door, caller int) (load.Operation, error)

// Door is one caller's connection, with one request at a time. Door replaces net/http's client, whose two goroutines
// for each connection take more time than the server and would dominate the measurement.
type Door struct {
	conn    net.Conn
	address string
	in      *bufio.Reader
	out     bytes.Buffer
}

// open connects one caller. The connection lasts as long as the process.
func open(ctx context.Context, address string) (*Door, error) {
	c, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	return &Door{conn: c, address: address, in: bufio.NewReader(c)}, nil
}

// errRefused is an answer without success.
var errRefused = errors.New("the request was refused")

// ask sends a JSON request and reads the JSON answer. Headers alternate names and values.
func (d *Door) ask(path string, q, answer any, headers ...string) error {
	body, err := json.Marshal(q)
	if err != nil {
		return fmt.Errorf("ask %s: %w", path, err)
	}
	d.out.Reset()
	fmt.Fprintf(&d.out, "POST %s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n",
		path, d.address, len(body))
	for i := 0; i < len(headers); i += 2 {
		fmt.Fprintf(&d.out, "%s: %s\r\n", headers[i], headers[i+1])
	}
	d.out.WriteString("\r\n")
	d.out.Write(body)
	text, err := d.trip()
	if err == nil {
		err = json.Unmarshal(text, answer)
	}
	if err != nil {
		return fmt.Errorf("ask %s: %w", path, err)
	}
	return nil
}

// trip sends the written request and reads the answer's body.
func (d *Door) trip() ([]byte, error) {
	if _, err := d.conn.Write(d.out.Bytes()); err != nil {
		return nil, err
	}
	got, err := http.ReadResponse(d.in, nil)
	if err != nil {
		return nil, err
	}
	defer got.Body.Close()
	text, err := io.ReadAll(got.Body)
	if err == nil && got.StatusCode != http.StatusOK {
		err = fmt.Errorf("%w: %d %s", errRefused, got.StatusCode, strings.TrimSpace(string(text)))
	}
	return text, err
}
