package intent

import (
	"bytes"
	"context"
	"encoding/json"

	"github.com/better-compute/cloud-resources/cloud"
)

// What an operator asks of a certificate by a signal sent by hand (D23): the
// rules of the calls, recorded with cloud.ActorOperator.

// OperatorUpdateCertificate takes a JSON object with any of leaf, chain,
// privateKey, domains, description and expectedVersion; null empties chain or
// description.
func (s *CertificateService) OperatorUpdateCertificate(ctx context.Context, id string, payload []byte) error {
	var in struct {
		Description     Text             `json:"description"`
		Leaf            *string          `json:"leaf"`
		Chain           Text             `json:"chain"`
		PrivateKey      *cloud.SecretRef `json:"privateKey"`
		Domains         []string         `json:"domains"`
		ExpectedVersion *int64           `json:"expectedVersion"`
	}
	d := json.NewDecoder(bytes.NewReader(payload))
	d.DisallowUnknownFields()
	if err := d.Decode(&in); err != nil || d.More() {
		return cloud.InvalidField("the payload is no JSON object with leaf, chain, privateKey, domains, description or expectedVersion", "payload")
	}
	u := CertificateUpdate{Leaf: in.Leaf, PrivateKey: in.PrivateKey, Domains: in.Domains, ExpectedVersion: in.ExpectedVersion}
	if in.Description.Given {
		u.Description = &in.Description.Value
	}
	if in.Chain.Given {
		u.Chain = &in.Chain.Value
	}
	c, err := s.Store.LoadCertificate(ctx, id)
	if err != nil {
		return err
	}
	_, err = s.Update(ctx, c.TenantID, id, cloud.ActorOperator, u)
	return err
}

// OperatorDeleteCertificate is a delete by hand.
func (s *CertificateService) OperatorDeleteCertificate(ctx context.Context, id string) error {
	c, err := s.Store.LoadCertificate(ctx, id)
	if err != nil {
		return err
	}
	_, err = s.Delete(ctx, c.TenantID, id, cloud.ActorOperator, nil)
	return err
}

// OperatorRefreshCertificate asks for a look now; one that the provider could
// not issue is asked for again. INVALID_STATE when it has ended.
func (s *CertificateService) OperatorRefreshCertificate(ctx context.Context, id string) error {
	_, err := s.Store.ChangeCertificate(ctx, "", id, cloud.ActorOperator, "refresh", func(c *cloud.Certificate) (*cloud.CertificateChange, error) {
		if c.State.Final() {
			return nil, cloud.Errorf(cloud.CodeInvalidState, "the certificate is %s", c.State)
		}
		return c.WantRefresh(s.Now()), nil
	})
	return err
}
