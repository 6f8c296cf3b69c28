package transport

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

const verdictHead = 3 // before the text

// sendVerdict sends this host's verdict on the peer, and returns a refusal.
func sendVerdict(conn io.Writer, key []byte, refusal *Refused) error {
	text := ""
	verdict := []byte{byte(codeNone), 0, 0}
	if refusal != nil {
		verdict[0], text = byte(refusal.Code), refusal.Text
	}
	binary.BigEndian.PutUint16(verdict[1:], uint16(len(text)))
	verdict = append(verdict, text...)
	if _, err := conn.Write(append(verdict, verdictMAC(key, verdict)...)); err != nil {
		return err
	}
	if refusal != nil {
		return refusal
	}
	return nil
}

// hear reads the peer's verdict. A refusal is reported to this host's owner.
func (t *Transport) hear(conn io.Reader, key []byte, g *greeting) error {
	refusal, err := readVerdict(conn, key)
	if err != nil {
		return fmt.Errorf("%w: the other host rejected the secret's proof; see the other host's log: %w",
			errHandshake, err)
	}
	if refusal == nil {
		return nil
	}
	refusal.By = g.peer.Host
	if t.config.TurnedAway != nil && g.purpose != purposeUnnamed {
		t.config.TurnedAway(refusal)
	}
	return refusal
}

// readVerdict returns the peer's refusal, nil if the peer accepts this host. An error means that the verdict did not
// come from a host with the secret.
func readVerdict(conn io.Reader, key []byte) (*Refused, error) {
	verdict := make([]byte, verdictHead+maxRefusalText+sha256.Size)
	if _, err := io.ReadFull(conn, verdict[:verdictHead]); err != nil {
		return nil, err
	}
	size := int(binary.BigEndian.Uint16(verdict[1:]))
	if size > maxRefusalText {
		return nil, errors.New("bad verdict")
	}
	end := verdictHead + size
	if _, err := io.ReadFull(conn, verdict[verdictHead:end+sha256.Size]); err != nil {
		return nil, err
	}
	if !hmac.Equal(verdict[end:end+sha256.Size], verdictMAC(key, verdict[:end])) {
		return nil, errors.New("the other host has a different secret")
	}
	if Code(verdict[0]) == codeNone {
		return nil, nil
	}
	return &Refused{Code: Code(verdict[0]), Text: string(verdict[verdictHead:end])}, nil
}

func verdictMAC(key, verdict []byte) []byte {
	mac := hmac.New(sha256.New, key)
	mac.Write(verdict)
	return mac.Sum(nil)
}

// judgeDialled decides whether to refuse a host that answered a dial.
func (t *Transport) judgeDialled(peer *Peer, meant Host) *Refused {
	if peer.Target() != meant.Target() {
		return refusef(CodeNotNow, "expected host %d with incarnation %s, but a different host has the address",
			meant.ID, meant.Incarnation)
	}
	return t.judge(peer)
}

// judgeAccepted decides whether to refuse a host that dialled.
func (t *Transport) judgeAccepted(g *greeting) *Refused {
	switch self := t.Identity(); {
	case g.purpose != purposeUnnamed && self.Host == 0:
		return notReady("the refusing host has no id yet")
	case g.purpose == purposeFrames && t.engineEnd() == nil:
		return notReady("the refusing host's log is not open yet")
	case g.purpose == purposeUnnamed:
		g.peer.Identity = Identity{}
		return nil
	case g.purpose != purposeFrames && g.purpose != purposeCall && g.purpose != purposeCalls, g.peer.Host == 0:
		return refusef(CodeNotNow, "unexpected purpose %d from host %d", g.purpose, g.peer.Host)
	}
	return t.judge(&g.peer)
}

// judge decides whether to refuse a named host that has the secret.
func (t *Transport) judge(peer *Peer) *Refused {
	self := t.Identity()
	switch {
	case peer.Deployment != self.Deployment:
		return refusef(CodeOtherDeployment, "different deployment: the refused host has %d, the refusing host %d",
			peer.Deployment, self.Deployment)
	case peer.Generation.number() < self.Generation.number():
		return refusef(CodeOtherGeneration, "the cluster was rebuilt without the refused host, from a backup or "+
			"surviving data: the refused host has generation %s, the cluster has generation %s. The refused host's "+
			"data is obsolete: give the host an empty --data-dir, and join the cluster with signalbox serve --join",
			peer.Generation, self.Generation)
	case peer.Generation != self.Generation:
		return refusef(CodeOtherDeployment, "different generation: the refused host has %s, the refusing host %s",
			peer.Generation, self.Generation)
	case peer.Host == self.Host:
		return refusef(CodeNotNow, "the refused host claims the id %d, but the refusing host has the id", self.Host)
	}
	if refusal := t.checkCertificate(peer); refusal != nil {
		return refusal
	}
	admit := t.config.Admit
	if admit == nil {
		admit = t.admitByBook
	}
	return asRefused(admit(*peer))
}

// admitByBook admits the hosts in the address book.
func (t *Transport) admitByBook(peer Peer) error {
	switch h, known := t.lookUp(peer.Host); {
	case !known:
		return refusef(CodeUnknownHost, "the refused host claims the id %d, but the cluster has no such host",
			peer.Host)
	case h.Incarnation != peer.Incarnation:
		return refusef(CodeOtherIncarnation, "host %d has the incarnation %s, but the refused host claims %s", h.ID,
			h.Incarnation, peer.Incarnation)
	case peer.Behind != nil:
		return &Refused{Code: CodeOlderCopy, Text: peer.Behind.Error()}
	}
	return nil
}

// checkCertificate returns a refusal if the peer's certificate does not contain the host's name. The TLS handshake has
// checked the authority's signature.
func (t *Transport) checkCertificate(peer *Peer) *Refused {
	leaf := peer.Certificate
	if leaf == nil {
		return nil
	}
	h, known := t.lookUp(peer.Host)
	if !known && t.config.Admit != nil {
		return nil // Admit may know the name, and a better refusal
	}
	if !known {
		return refusef(CodeUnknownHost, "the refused host claims the id %d, but the host's name is unknown",
			peer.Host)
	}
	if !peer.CertifiedAs(h.Name) {
		return refusef(CodeOtherCertificate, "the refused host's certificate is for %q and %q, but host %d is "+
			"named %q", leaf.Subject.CommonName, leaf.DNSNames, h.ID, h.Name)
	}
	return nil
}
