"""The test setup itself: a location passes from one gateway to a follower on another. If this fails, everything fails."""

from followers import following
from order_system import HOME, OrderSystem
from riders import Rider
from trips import to_the_door


def test_a_location_reaches_a_follower_on_another_gateway(make_site):
    site = make_site(gateways=2)
    orders = OrderSystem(site)
    visit = orders.visit("on_the_way")
    rider = Rider(orders, visit).travel()
    site.front = site.gateways[1].port
    with following(visit) as follower:
        sent = rider.report(to_the_door(HOME).at(0), is_answered=True)
        follower.hear_place(round(sent.spot.lat, 6))
    rider.close()


def test_every_gateway_of_a_site_is_ready_on_its_management_port(make_site):
    site = make_site(gateways=2)
    assert [gateway.manage("/readyz")[0] for gateway in site.gateways] == [200, 200]
