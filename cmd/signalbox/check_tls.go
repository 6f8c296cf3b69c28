package main

import (
	"context"
	"crypto/x509"
	"time"

	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
)

// soonOver is how long before the end of a certificate check warns.
const soonOver = 14 * 24 * time.Hour

// checkCertificates checks the certificates that hosts show, where they do.
func checkCertificates(ctx context.Context, connection *cli.Connection, x *findings) {
	now := time.Now()
	err := connection.Certificates(ctx, func(endpoint string, shown *x509.Certificate, err error) {
		if err != nil {
			return // another check reports that it cannot be reached
		}
		judgeCertificate(endpoint, shown, now, x)
	})
	if err != nil {
		x.add(levelFail, "certificates", "look at the TLS settings", "they cannot be looked at: %s", cli.Explain(err))
	}
}

// judgeCertificateEnd judges a certificate of which only the end is known.
func judgeCertificateEnd(subject string, end, now time.Time, x *findings) {
	x.add(levelBefore(end, now), subject,
		"put a new one in the place of the old one: that for clients is read again when it changes, that for hosts "+
			"when the host is started again",
		"it is good to %s", end.UTC().Format(time.DateTime+" UTC"))
}

// levelBefore is how bad it is that a certificate ends then.
func levelBefore(end, now time.Time) level {
	switch left := end.Sub(now); {
	case left <= 0:
		return levelFail
	case left < soonOver:
		return levelWarn
	}
	return levelOK
}

func judgeCertificate(endpoint string, shown *x509.Certificate, now time.Time, x *findings) {
	l := levelBefore(shown.NotAfter, now)
	if now.Before(shown.NotBefore) {
		l = levelFail
	}
	x.add(l, "certificate of "+endpoint,
		"put a new one in the place of the old one: the host reads the file again when it changes",
		"it is good from %s to %s", shown.NotBefore.UTC().Format(time.DateOnly),
		shown.NotAfter.UTC().Format(time.DateTime+" UTC"))
}
