package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/gateway/ydb"
	"github.com/signalbox/signalbox/internal/certfile"
)

func newServer(o options, g *ydb.Gateway) (*grpc.Server, error) {
	all := g.ServerOptions()
	if o.certificate != "" {
		files := certfile.Files{Certificate: o.certificate, Key: o.key, Authorities: o.clientCA}
		source, err := certfile.Load(files, func(own tls.Certificate, clients *x509.CertPool) *tls.Config {
			c := &tls.Config{Certificates: []tls.Certificate{own}, MinVersion: tls.VersionTLS12}
			if clients != nil {
				c.ClientCAs, c.ClientAuth = clients, tls.RequireAndVerifyClientCert
			}
			return c
		})
		if err != nil {
			return nil, err
		}
		all = append(all, grpc.Creds(credentials.NewTLS(source.ServerConfig())))
	}
	return grpc.NewServer(all...), nil
}

func configOf(o options, log *slog.Logger) (c ydb.Config, err error) {
	cluster := []client.Option{client.WithName("signalbox-ydb"), client.WithLogger(log)}
	switch o.clusterTLS {
	case "off":
	case "on":
		files := certfile.Files{Certificate: o.clusterCertificate, Key: o.clusterKey, Authorities: o.clusterCA}
		source, err := certfile.Load(files, func(own tls.Certificate, hosts *x509.CertPool) *tls.Config {
			c := &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: hosts}
			if own.Certificate != nil {
				c.Certificates = []tls.Certificate{own}
			}
			return c
		})
		if err != nil {
			return c, err
		}
		cluster = append(cluster, client.WithTLSSource(source.Config))
	default:
		return c, fmt.Errorf("--cluster-tls is %q; on or off", o.clusterTLS)
	}
	endpoints, err := endpointsOf("advertise", o.advertise)
	return ydb.Config{
		Endpoints: endpoints, Secure: o.certificate != "", PlainTickets: o.plainTickets, MaxStreams: o.streams,
		MaxConnections: cmp.Or(o.connections, min(ydb.DefaultMaxConnections, fileLimit()/filesPerConnection)),
		MaxQueuedBytes: int64(o.queued), Log: log,
		Open: func(ctx context.Context, token string) (*client.Client, error) {
			return client.Open(ctx, o.endpoints, append(slices.Clone(cluster), client.WithToken(token))...)
		},
	}, err
}

// filesPerConnection is the number of file descriptors per SDK connection: connections being admitted exceed the limit
// by half, and host connections need files, too.
const filesPerConnection = 4

// endpointsOf parses a flag with comma-separated host:port[/location] entries.
func endpointsOf(flag, list string) (all []ydb.Endpoint, err error) {
	for item := range strings.SplitSeq(list, ",") {
		if item = strings.TrimSpace(item); item == "" {
			continue
		}
		address, location, _ := strings.Cut(item, "/")
		host, port, err := net.SplitHostPort(address)
		if err != nil {
			return nil, fmt.Errorf("--%s: %w", flag, err)
		}
		n, err := strconv.ParseUint(port, 10, 16)
		if err != nil {
			return nil, fmt.Errorf("--%s: the port of %s: %w", flag, address, err)
		}
		all = append(all, ydb.Endpoint{Address: host, Port: uint32(n), Location: location})
	}
	return all, nil
}
