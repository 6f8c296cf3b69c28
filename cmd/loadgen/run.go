package main

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"unicode"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/signalbox/signalbox/loadgen"
	"github.com/signalbox/signalbox/loadgen/report"
)

// runFlags are the flag values for run.
type runFlags struct {
	// config is filled directly by the flags; complete adds the fields that come from several flags or from files.
	config loadgen.Config
	// output and html select the report's form: text or JSON on standard output, and a page with charts in a file.
	output string
	html   string
	// tokenFile, useTLS and the certificate files are converted to config.Token and config.TLS.
	tokenFile string
	useTLS    bool
	ca        string
	cert, key string
	weights   string
}

// newRun returns the command that generates load.
func newRun(s streams) *cobra.Command {
	var f runFlags
	c := &cobra.Command{
		Use:   "run --workload NAME",
		Short: "Run a workload and report the results",
		Long: `Runs a workload, and reports throughput, latency and the cost on the hosts. The
cluster's guarantees are checked during the run.

Without --endpoints loadgen starts a cluster: signalbox processes in a temporary
directory, on free ports. Inside the module loadgen builds the signalbox program first.
The processes are stopped at the end, also after Ctrl-C.

By default every caller starts the next operation when the last operation is done. With
--rate operations are due at fixed times, and latency is measured from the due time: if
a cluster stalls for a second, every operation due in that second counts.

Hosts merge fast updates. The workload watch therefore waits until all watchers have
seen an update before the next update. With --open-loop updates follow as fast as the
cluster acknowledges them, and merged updates are counted in the report.

Exit codes: 0 measured, and all checks passed; 3 a check failed; 4 more operations
failed than --max-errors; 64 the flags are wrong; 130 interrupted; 1 any other failure.`,
		Example: `  # what can be done?
  loadgen list

  # the throughput of locks on three hosts
  loadgen run --workload lock --concurrency 512 --connections 8 --hosts 3 --duration 10s

  # their latency at half of that
  loadgen run --workload lock --concurrency 512 --connections 8 --hosts 3 --rate 20000

  # how fast one lock goes around among 32
  loadgen run --workload handoff --concurrency 32

  # what 100,000 sessions cost
  loadgen run --workload idle --sessions 100000 --connections 100 --duration 30s

  # 2,000 consumers follow 1,000 workers, of which 100 a second come or go
  loadgen run --workload discovery --workers 1000 --watchers 2000 --rate 100

  # a cluster that runs already, as JSON and as a page with charts
  loadgen run --workload mixed --endpoints 10.0.0.1:7420,10.0.0.2:7420 \
      --admin-endpoints http://10.0.0.1:7422,http://10.0.0.2:7422 --output json --html mixed.html`,
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error { return f.run(c, s) },
	}
	f.add(c.Flags())
	return c
}

// add declares the flags in four groups: work, hosts, settings for single workloads, and report. The help lists the
// flags in declaration order.
func (r *runFlags) add(flags *pflag.FlagSet) {
	flags.SortFlags = false
	c := &r.config
	flags.StringVarP(&c.Workload, "workload", "w", "", "Workload to run. loadgen list describes all workloads")
	flags.IntVar(&c.Callers, "concurrency", 0,
		"Number of concurrent callers (default depends on the workload, usually 64)")
	flags.IntVar(&c.Connections, "connections", 0,
		"Number of connections (default: one per 128 callers, up to 8)")
	flags.DurationVar(&c.Duration, "duration", loadgen.DefaultDuration, "Measured time")
	flags.DurationVar(&c.Warmup, "warmup", 0, "Warm-up time before the measured time")
	flags.Float64Var(&c.Rate, "rate", 0,
		"Operations started per second, even if earlier operations are not done (default: no limit)")

	flags.StringVar(&c.Endpoints, "endpoints", "",
		"Host addresses in a running cluster, separated by commas (default: start a cluster)")
	flags.StringSliceVar(&c.Admin, "admin-endpoints", nil, "Admin pages of the hosts, for memory and CPU")
	flags.IntVar(&c.Hosts, "hosts", 1, "Hosts to start: 1 or 3")
	flags.IntVar(&c.Shards, "shards", 0, "Data shards on started hosts (default as for signalbox serve)")
	flags.StringVar(&c.Binary, "binary", "",
		"Signalbox program to start (default: built inside the module, else from the PATH)")
	flags.StringArrayVar(&c.ServerFlags, "server-flag", nil,
		"Flag for every started host, such as --server-flag=--raft-heartbeat-interval=20ms")
	flags.StringVar(&r.tokenFile, "token-file", "", "File with the access token and nothing else")
	flags.BoolVar(&r.useTLS, "tls", false, "Connect with TLS")
	flags.StringVar(&r.ca, "tls-ca", "",
		"File with the CAs that sign host certificates, PEM (default the system CAs)")
	flags.StringVar(&r.cert, "tls-cert", "", "Client certificate file, PEM")
	flags.StringVar(&r.key, "tls-key", "", "Private key file for the client certificate, PEM")

	flags.StringVar(&c.Node, "node", "", "Coordination node to work in (default a new node, dropped afterwards)")
	flags.DurationVar(&c.SessionTimeout, "session-timeout", loadgen.DefaultSessionTimeout,
		"Session timeout")
	flags.IntVar(&c.Payload, "data-size", loadgen.DefaultPayload, "Data bytes per write")
	flags.BoolVar(&c.Ephemeral, "ephemeral", false,
		"lock: use ephemeral semaphores")
	flags.IntVar(&c.Limit, "limit", 0, "counting: maximum owners (default 4)")
	flags.DurationVar(&c.Hold, "hold", 0, "handoff, counting: time for which a caller holds the semaphore")
	flags.IntVar(&c.Sessions, "sessions", 0, "idle: number of sessions (default: as many as callers, or 1000)")
	flags.IntVar(&c.Watchers, "watchers", 0,
		"watch, config, discovery: number of watchers (defaults: 1000, one per caller, 200)")
	flags.IntVar(&c.Workers, "workers", 0, "discovery: number of registered workers (default 100)")
	flags.BoolVar(&c.Free, "open-loop", false,
		"watch: do not wait until all watchers have seen an update before the next update")
	flags.BoolVar(&c.SharedWatches, "shared-watches", false,
		"watch, discovery: share a watch among all watchers of a connection, as the client library does")
	flags.Float64Var(&c.Writes, "write-rate", 0,
		"read-relaxed, read-strict: updates per second during the reads. -1 for none (default 10)")
	flags.StringVar(&r.weights, "weights", "",
		"mixed: operation weights (default lock=40,read-relaxed=40,read-strict=10,session=5,handoff=5)")

	flags.StringVarP(&r.output, "output", "o", "text", "Report format on standard output: text or json")
	flags.StringVar(&r.html, "html", "", "HTML file for a report with charts, in addition to standard output")
	flags.Int64Var(&c.AllowErrors, "max-errors", 0, "Maximum failed operations. -1 for no limit")
}

// run generates the load, with a progress line if standard error is a terminal. A failed run may still have a report,
// so the report is written before the error is returned.
func (r *runFlags) run(c *cobra.Command, s streams) error {
	if err := r.complete(); err != nil {
		return usageError{err}
	}
	r.config.Command = commandLine(s.args)
	var live *progress
	if s.live {
		live = newProgress(s.err)
		r.config.Progress = live.show
	}
	report, err := loadgen.Run(c.Context(), r.config)
	if live != nil {
		live.clear()
	}
	if report == nil {
		return err
	}
	return errors.Join(r.write(report, s), err)
}

// commandLine returns the command line, quoted for a shell.
func commandLine(args []string) string {
	line := "loadgen"
	for _, a := range args {
		if a == "" || strings.ContainsFunc(a, func(r rune) bool {
			return !strings.ContainsRune("-_=+,./:@%", r) && !unicode.IsLetter(r) && !unicode.IsDigit(r)
		}) {
			a = "'" + strings.ReplaceAll(a, "'", `'\''`) + "'"
		}
		line += " " + a
	}
	return line
}

// complete parses flag values that are not plain values.
func (r *runFlags) complete() (err error) {
	if r.output != "text" && r.output != "json" {
		return fmt.Errorf("--output is %q: it can be text or json", r.output)
	}
	if r.config.Workload == "" {
		return errors.New("no workload is named: --workload NAME; loadgen list explains them")
	}
	if r.config.Weights, err = parseWeights(r.weights); err != nil {
		return err
	}
	if r.tokenFile != "" {
		token, err := os.ReadFile(r.tokenFile)
		if err != nil {
			return err
		}
		r.config.Token = strings.TrimSpace(string(token))
	}
	if r.config.TLS, err = r.tls(); err != nil {
		return err
	}
	return r.config.Validate()
}

// tls returns the TLS configuration for connections, nil without TLS. Certificates without --tls are an error,
// because the load would silently use plain connections.
func (r *runFlags) tls() (*tls.Config, error) {
	if !r.useTLS {
		if r.ca != "" || r.cert != "" || r.key != "" {
			return nil, errors.New("certificates are given without --tls")
		}
		return nil, nil
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if r.ca != "" {
		text, err := os.ReadFile(r.ca)
		if err != nil {
			return nil, err
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("%s has no certificates in it", r.ca)
		}
	}
	if r.cert != "" || r.key != "" {
		pair, err := tls.LoadX509KeyPair(r.cert, r.key)
		if err != nil {
			return nil, err
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return config, nil
}

// parseWeights parses lock=40,session=5.
func parseWeights(text string) (map[string]int, error) {
	if text == "" {
		return nil, nil
	}
	weights := make(map[string]int)
	for _, part := range strings.Split(text, ",") {
		name, value, _ := strings.Cut(part, "=")
		n, err := strconv.Atoi(value)
		if err != nil {
			return nil, fmt.Errorf("the weight %q: it is written NAME=NUMBER", part)
		}
		weights[strings.TrimSpace(name)] = n
	}
	return weights, nil
}

// write writes the report in the requested form.
func (r *runFlags) write(report *report.Report, s streams) error {
	if r.html != "" {
		file, err := os.Create(r.html)
		if err != nil {
			return err
		}
		if err := errors.Join(report.WriteHTML(file), file.Close()); err != nil {
			return fmt.Errorf("write %s: %w", r.html, err)
		}
	}
	if r.output == "json" {
		return report.WriteJSON(s.out)
	}
	return report.WriteText(s.out)
}
